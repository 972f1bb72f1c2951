/** axe-core's findings in a page. */
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
