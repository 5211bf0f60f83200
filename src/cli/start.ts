/**
 * `npm start`: runs Callmeter locally and prepares everything it needs.
 */
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { MEDIA_TYPE } from '../contract/envelope.ts';
import { ensureHistoryPlan, writeDemoHistory } from './demo-history.ts';
import { DEMO_ORGANIZATION_ID, ensureDemoOrganization } from './demo-organization.ts';
import { ensureDevVars, type LocalSecrets } from './dev-vars.ts';
import { ancestorsUpToNpm, whenNpmEnds } from './parents.ts';
import { bundle, freePort, PROJECT_DIR, startServer } from './server.ts';

const PORT_WAIT_MS = 3_000;
const PORT_POLL_MS = 100;

const HELP = `npm start [-- --fresh] [--demo-history]

Starts Callmeter on this machine and prepares all it needs: database, catalog, a demo organization, keys.

  --fresh          forget the state of earlier starts
  --demo-history   give the demo organization sixty days of history, where it has none yet
  --help           this text

Environment:
  PORT            port to serve on (8787)
  STATE_DIR       where the state is kept (.state)
  DEV_VARS_FILE   where the secrets are kept (.dev.vars)

Secrets are kept in .dev.vars (OPERATOR_TOKEN, DEMO_API_KEY); what is missing is made. Other names there replace the
variables of wrangler.toml.`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { fresh: { type: 'boolean' }, 'demo-history': { type: 'boolean' }, help: { type: 'boolean' } },
  });
  if (values.help) return console.log(HELP);
  const ancestors = await ancestorsUpToNpm();
  const port = Number(process.env.PORT ?? 8787);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new Error(`PORT must be a port number, not ${process.env.PORT}`);
  const stateDir = resolve(PROJECT_DIR, process.env.STATE_DIR ?? '.state');
  await portToBecomeFree(port);
  if (values.fresh) await rm(stateDir, { recursive: true, force: true });

  console.log('Callmeter: preparing ...');
  const [secrets] = await Promise.all([ensureDevVars(), bundle(stateDir)]);
  const { DEMO_API_KEY, ...vars } = secrets;
  const withHistory = values['demo-history'] === true;
  await prepare(stateDir, vars, secrets, withHistory);
  if (withHistory) await tellHistory(stateDir, vars, secrets.OPERATOR_TOKEN);
  const server = await startServer({ port, stateDir, vars });

  console.log(`Callmeter runs at ${server.url}

  organization   ${DEMO_ORGANIZATION_ID}
  API key        ${DEMO_API_KEY}
  operator       OPERATOR_TOKEN in .dev.vars
  state          ${stateDir}

Try it:

curl -s ${server.url}/call_begin -H 'Authorization: Bearer ${DEMO_API_KEY}' -H 'Accept: ${MEDIA_TYPE}' -H 'Content-Type: application/json' -d '{"customerId":"alice","requested":{"premium":true}}'

Ctrl+C stops.`);

  let stopping = false;
  const stop = () => {
    if (stopping) return;
    stopping = true;
    void server.stop().then(() => process.exit(0));
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);
  whenNpmEnds(ancestors, stop);
}

/** Waits for a server that was just killed to release its port. */
async function portToBecomeFree(port: number): Promise<void> {
  for (const giveUpAtMs = Date.now() + PORT_WAIT_MS; ; ) {
    try {
      await freePort(port);
      return;
    } catch (error) {
      if (Date.now() > giveUpAtMs) throw error;
      await setTimeout(PORT_POLL_MS);
    }
  }
}

/** Fills the state on a random port, so that the data are complete when the real port opens. */
async function prepare(
  stateDir: string,
  vars: Record<string, string>,
  secrets: LocalSecrets,
  withHistory: boolean,
): Promise<void> {
  // No cache of the configuration exists yet, so changes need not wait for it.
  const server = await startServer({ port: await freePort(0), stateDir, vars: { ...vars, CONFIG_TTL_MS: 0 } });
  try {
    await server.housekeep();
    await ensureDemoOrganization(server, secrets.OPERATOR_TOKEN, secrets.DEMO_API_KEY);
    if (withHistory) await ensureHistoryPlan(server.url, secrets.OPERATOR_TOKEN);
  } finally {
    await server.stop();
  }
}

async function tellHistory(stateDir: string, vars: Record<string, string>, operatorToken: string): Promise<void> {
  console.log('Callmeter: writing sixty days of history ...');
  const written = Object.values(await writeDemoHistory(stateDir, vars, operatorToken));
  const calls = written.reduce((sum, count) => sum + count, 0);
  console.log(calls === 0 ? '  it is there already' : `  ${calls} calls of ${written.length} customers`);
}

main().catch((error: Error) => {
  console.error(`Callmeter did not start: ${error.message}`);
  process.exit(1);
});
