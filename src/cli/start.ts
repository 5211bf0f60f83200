/**
 * `npm start`: runs Callmeter locally and prepares everything it needs.
 */
import { resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { MEDIA_TYPE } from '../contract/envelope.ts';
import { bundle } from './bundle.ts';
import { DEMO_ORGANIZATION_ID, keepDemoVendors } from './demo-organization.ts';
import { ensureDevVars } from './dev-vars.ts';
import { refuseOptionsOfNpm } from './npm-options.ts';
import { ancestorsUpToNpm, whenNpmEnds } from './parents.ts';
import { prepareState } from './prepare.ts';
import { freePort, PROJECT_DIR, startServer } from './server.ts';
import { emptyState, hasState, lockState } from './state-lock.ts';
import { runTemporary } from './temporary.ts';
import { startTrialVendor } from './vendor/server.ts';

const PORT_WAIT_MS = 3_000;
const PORT_POLL_MS = 100;

const HELP = `npm start [-- --fresh] [--demo-history] [--temporary]

Starts Callmeter on this machine and prepares all it needs: database, catalog, a demo organization, keys, and a vendor
for trying out (\`npm run vendor -- --help\`), which answers for OpenAI, Anthropic and Google until the organization has
a key of its own for them. Its answers are made up.

  --fresh          forget the state of earlier starts
  --demo-history   give the demo organization sixty days of history, if it has none yet
  --temporary      for the tests of an application: free ports, and a state and secrets of its own, which are removed
                   at the end. Prints its address as one line of JSON, and ends with its standard input. A change of
                   configuration counts at once. It takes no other option and none of the variables below
  --help           this text

Environment:
  PORT            port to serve on (8787)
  VENDOR_PORT     port of the vendor for trying out (the next one)
  STATE_DIR       folder of the state (.state), by one server at a time
  DEV_VARS_FILE   file of the secrets (.dev.vars)

Secrets are kept in .dev.vars (OPERATOR_TOKEN, DEMO_API_KEY); what is missing is made. Other names there replace the
variables of wrangler.toml.`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      fresh: { type: 'boolean' },
      'demo-history': { type: 'boolean' },
      temporary: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return console.log(HELP);
  refuseOptionsOfNpm('npm start', ['fresh', 'demo-history', 'temporary']);
  const ancestors = await ancestorsUpToNpm();
  if (values.temporary) {
    if (values.fresh || values['demo-history']) throw new Error('--temporary takes no other option');
    await runTemporary((stop) => whenNpmEnds(ancestors, stop));
    process.exit(0);
  }
  const port = portIn('PORT', 8787);
  const vendorPort = portIn('VENDOR_PORT', port + 1);
  const stateDir = resolve(PROJECT_DIR, process.env.STATE_DIR ?? '.state');
  await lockState(stateDir, port);
  await portToBecomeFree(port, 'PORT');
  await portToBecomeFree(vendorPort, 'VENDOR_PORT');
  if (values.fresh) await emptyState(stateDir);

  console.log('Callmeter: preparing ...');
  const isOldState = await hasState(stateDir);
  const [{ secrets, made }] = await Promise.all([ensureDevVars(), bundle(stateDir)]);
  if (isOldState && made.length > 0) console.warn(newSecretsText(made, stateDir));
  const { DEMO_API_KEY, ...vars } = secrets;
  const withHistory = values['demo-history'] === true;
  const vendor = await startTrialVendor({ port: vendorPort });
  const standsInFor = await prepareState(stateDir, { secrets, vendorUrl: vendor.url, withHistory });
  if (withHistory) await tellHistory(stateDir, vars, secrets.OPERATOR_TOKEN);
  // The API reference fills in the key on this machine.
  const server = await startServer({ port, stateDir, vars: { ...vars, DEMO_API_KEY } });
  const leaveVendors = keepDemoVendors(server, secrets.OPERATOR_TOKEN, vendor.url);

  console.log(`Callmeter runs at ${server.url}

  console        ${server.url}/console (its token: OPERATOR_TOKEN in .dev.vars)
  API reference  ${server.url}/docs
  models         ${server.url}/models
  demo           npm run demo, with the server running

  organization   ${DEMO_ORGANIZATION_ID}
  API key        ${DEMO_API_KEY}
  state          ${stateDir}
  vendor         ${vendor.url} answers for ${standsInFor.join(', ') || 'nobody'}: its answers are made up

Try it:

curl -s ${server.url}/call_begin -H 'Authorization: Bearer ${DEMO_API_KEY}' -H 'Accept: ${MEDIA_TYPE}' -H 'Content-Type: application/json' -d '{"customerId":"alice","requested":{"premium":true}}'

Or ask a model through the gateway:

curl -s ${server.url}/v1/chat/completions -H 'Authorization: Bearer ${DEMO_API_KEY}' -H 'Content-Type: application/json' -d '{"model":"service/premium","customer":"alice","messages":[{"role":"user","content":"Hello"}]}'

Ctrl+C stops.`);

  let stopping = false;
  const stop = () => {
    if (stopping) return;
    stopping = true;
    leaveVendors();
    void Promise.all([server.stop(), vendor.stop()]).then(() => process.exit(0));
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);
  whenNpmEnds(ancestors, stop);
}

/** New secrets cannot decrypt data that was stored under the old ones. */
function newSecretsText(made: readonly string[], stateDir: string): string {
  const lost = made.includes('VENDOR_KEY_SECRET') ? ' Its vendor keys can no longer be read.' : '';
  return `
New secrets were made: ${made.join(', ')}. The state in ${stateDir} is of an earlier start, which had others.${lost}
If you have the earlier .dev.vars, stop, put it back and start again. npm start -- --fresh forgets the state.
`;
}

function portIn(variable: string, otherwise: number): number {
  const port = Number(process.env[variable] ?? otherwise);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new Error(`${variable} must be a port number, not ${process.env[variable] ?? otherwise}`);
  return port;
}

/** Waits for a server that was just killed to release its port. */
async function portToBecomeFree(port: number, variable: string): Promise<void> {
  for (const giveUpAtMs = Date.now() + PORT_WAIT_MS; ; ) {
    try {
      await freePort(port, variable);
      return;
    } catch (error) {
      if (Date.now() > giveUpAtMs) throw error;
      await setTimeout(PORT_POLL_MS);
    }
  }
}

async function tellHistory(stateDir: string, vars: Record<string, string>, operatorToken: string): Promise<void> {
  console.log('Callmeter: writing sixty days of history ...');
  const { writeDemoHistory } = await import('./demo-history.ts');
  const written = Object.values(await writeDemoHistory(stateDir, vars, operatorToken));
  const calls = written.reduce((sum, count) => sum + count, 0);
  console.log(calls === 0 ? '  it is there already' : `  ${calls} calls of ${written.length} customers`);
}

main().catch((error: Error) => {
  console.error(`Callmeter did not start: ${error.message}`);
  process.exit(1);
});
