/**
 * Accessibility violations of a page, found by axe-core.
 */
import axe from 'axe-core';
import type { Page } from 'playwright-core';

/** Each violation in a line: the rule, and the first place that breaks it. */
export async function violations(page: Page): Promise<string[]> {
  // By the debugger, because the page's own policy allows no script; once for each document, because it is long.
  if (!(await page.evaluate<boolean>("'axe' in globalThis"))) await page.evaluate(axe.source);
  const { violations: found } = await page.evaluate<axe.AxeResults>(
    'axe.run(document, { resultTypes: ["violations"] })',
  );
  return found.map(
    ({ id, nodes }) => `${id} (${nodes.length}): ${nodes[0]?.failureSummary ?? ''} ${nodes[0]?.html ?? ''}`,
  );
}
