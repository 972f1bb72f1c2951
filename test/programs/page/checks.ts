/** What is wrong in a page: axe-core's findings, and numbers that do not explain themselves under the pointer and by a nearby element that takes the focus. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

interface Found {
  readonly violations: {
    readonly id: string;
    readonly nodes: { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

const SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** One line for each violation; injected by the debugger, since the page's policy forbids foreign scripts. */
export async function violationsOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(SOURCE);
  return await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run: (scope: Document) => Promise<Found> } };
    const { violations } = await axe.run(document);
    return violations.map(({ id, nodes }) => {
      const places = nodes.map(({ html, failureSummary }) => `${html.slice(0, 160)} (${failureSummary ?? ''})`);
      return `${id}: ${places.join(' | ')}`;
    });
  });
}

/**
 * Elements without explanations: sentences and lists that say in words what a number is, names, and choices.
 * Everything else with a digit or a dash for a value needs one.
 */
const IN_WORDS =
  '.situation, .notice, .events, .moment, .past-range, .choice, .reading, th[scope=row], h2, h3, h4, nav, a.back, .hidden';

/** Texts such as `12.3 ms` without an explanation for the pointer. */
export async function unexplainedNumbers(page: Page): Promise<readonly string[]> {
  return await page.evaluate((inWords) => {
    const found: string[] = [];
    const texts = document.createTreeWalker(document.querySelector('main') ?? document.body, NodeFilter.SHOW_TEXT);
    for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
      const text = node.textContent?.trim() ?? '';
      const element = node.parentElement;
      if (element === null || !/\d|^–$/.test(text)) continue;
      if (element.closest(inWords) === null && element.closest('[data-def]') === null) found.push(text);
    }
    return found;
  }, IN_WORDS);
}

/** The number of explanations, and those that the keyboard does not reach or that are not announced. */
export async function explanationsByKeyboard(page: Page): Promise<{ count: number; missing: readonly string[] }> {
  return await page.evaluate(async () => {
    const keys = new Set<string>();
    for (const element of document.querySelectorAll<HTMLElement>('main [data-def]')) {
      if (element.checkVisibility()) keys.add(element.dataset.def ?? '');
    }
    const missing: string[] = [];
    for (const key of keys) {
      const button = [...document.querySelectorAll<HTMLElement>(`main button[data-def="${key}"]`)].find((one) =>
        one.checkVisibility(),
      );
      if (button === undefined) {
        missing.push(`${key}: nothing takes the focus`);
        continue;
      }
      const description = document.getElementById(button.getAttribute('aria-describedby') ?? '')?.textContent ?? '';
      (document.activeElement as HTMLElement | null)?.blur();
      button.focus({ preventScroll: true });
      await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
      const shown = document.querySelector('.tooltip p')?.textContent ?? '';
      if (description.length < 20 || shown !== description)
        missing.push(`${key}: “${shown}”, and heard “${description}”`);
    }
    (document.activeElement as HTMLElement | null)?.blur();
    return { count: keys.size, missing };
  });
}
