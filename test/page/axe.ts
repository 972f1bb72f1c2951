/** What axe-core finds in a page. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

const SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** One line for each violation; run in the page by the debugger, since its policy lets no script of others in. */
export async function violationsOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(SOURCE);
  const violations = (await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run: (scope: Document) => Promise<{ violations: readonly Violation[] }> };
    };
    return (await axe.run(document)).violations;
  })) as readonly Violation[];
  return violations.map(({ id, nodes }) => {
    const places = nodes.map(({ html, failureSummary }) => `${html.slice(0, 160)} (${failureSummary ?? ''})`);
    return `${id}: ${places.join(' | ')}`;
  });
}
