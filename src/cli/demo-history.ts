/**
 * `npm start -- --demo-history`: writes sixty days of plausible history for the demo organization, so that charts have
 * data.
 *
 * A separate Worker (src/demo) writes it to the same state with the real commands, before the service starts. Existing
 * history is kept: a second run writes nothing.
 */

import { type Bundle, bundle } from './bundle.ts';
import { DEMO_ORGANIZATION_ID } from './demo-organization.ts';
import { OperatorClient } from './operator-client.ts';
import { freePort, startServer } from './server.ts';

const HISTORY: Bundle = { script: 'durable-objects/demo/history-worker.ts', folder: 'history' };

/** The plan of pay-as-you-go customers, which counts pages and tool calls. */
const SCALE = {
  name: 'Scale',
  limitType: 'DOWNGRADE',
  limits: { premiumCalls: 400, premiumTokens: 500_000, searches: 300 },
  payg: { enabled: true, markupPercent: 20 },
  customMeters: {
    CUSTOM1: {
      label: 'Pages',
      included: 1_500,
      funding: { credits: true, payg: true },
      overage: {
        model: 'GRADUATED',
        tiers: [
          { upTo: '1000', priceUsd: '0.01' },
          { upTo: null, priceUsd: '0.005' },
        ],
      },
    },
    AGENTIC_API: {
      label: 'Tool calls',
      included: 4_000,
      funding: { payg: true },
      overage: { model: 'SINGLE', priceUsd: '0.002' },
    },
  },
  priceUsd: '49',
};

/** Call this before the service runs on the same state. Returns the number of calls written, by customer. */
export async function writeDemoHistory(
  stateDir: string,
  vars: Record<string, string | number>,
  operatorToken: string,
): Promise<Record<string, number>> {
  await bundle(stateDir, HISTORY);
  const server = await startServer({ port: await freePort(0), stateDir, vars, bundled: HISTORY });
  try {
    const response = await fetch(`${server.url}/${DEMO_ORGANIZATION_ID}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${operatorToken}` },
    });
    if (!response.ok) throw new Error(`the history was not written: ${(await response.text()).slice(0, 500)}`);
    return (await response.json()) as Record<string, number>;
  } finally {
    await server.stop();
  }
}

/** Call this while the service runs: creates the plan of the history's customers. */
export async function ensureHistoryPlan(url: string, operatorToken: string): Promise<void> {
  await new OperatorClient(url, operatorToken).demand(
    'PUT',
    `/operator/organizations/${DEMO_ORGANIZATION_ID}/plans/scale`,
    SCALE,
  );
}
