/**
 * `npm run deploy`: from a Cloudflare account to a served request, and every later deployment.
 *
 * Each step can be repeated and finds the results of earlier ones, so after a failure or an interruption the same
 * command continues. Progress goes to standard error, the outcome to standard output.
 */
import { resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { type Configuration, readConfiguration } from './deploy/configuration.ts';
import { KEY_NAME, makePlan, type Plan } from './deploy/plan.ts';
import { addSecrets, makeSecret, readSecretsFile, type SecretsFile } from './deploy/secrets-file.ts';
import { CHECKED_CUSTOMER, type ServedCall, type SetUp, serveCall, setUp, waitUntilServed } from './deploy/served.ts';
import { applyMigrations, createDatabases, uploadWorker, workerAddress } from './deploy/upload.ts';
import { Wrangler } from './deploy/wrangler.ts';
import { refuseOptionsOfNpm } from './npm-options.ts';
import { accessHeaders, serverUrl } from './operator-target.ts';
import { isUsageError, UsageError } from './usage-error.ts';

const PROJECT_DIR = resolve(import.meta.dirname, '..', '..');
const CONFIG_DEFAULT = 'wrangler.toml';

const HELP = `npm run deploy [-- --yes] [flags]

Deploys Callmeter to Cloudflare, for the first time or again: after a failure, run it again and it continues.

  check      asks Cloudflare what is there, says what will be done, and asks whether to go on
  secrets    makes those that are missing, and keeps them in .secrets, which its owner alone can read
  databases  makes the D1 databases of wrangler.toml that are not there
  tables     applies the missing migrations to each of them
  worker     uploads the Worker, with secrets that it lacks; wrangler makes namespaces and buckets
  service    waits until the Worker's address serves
  setup      makes an organization, a plan and a key if there are none; shows the key
  call       begins and ends a call with that key

  --yes              does not ask; needed without a terminal, except if CI is set
  --dry-run          only checks
  --organization     name of the first organization ("My organization")
  --url              address of the Worker, if it is not the one that wrangler names
  --config           another wrangler.toml, for a second deployment; its secrets are in .secrets.WORKER
  --json             the outcome as JSON; with \`npm run -s\`, standard output holds nothing else
  --help             this text

If CI is set, no secret is made and nothing is set up: secrets come from the Worker, or from the environment if the
Worker lacks them. Named environments of wrangler (--env) are not supported; use --config.

Exit code: 0 deployed and serving, 1 error, 2 wrong command line, 130 interrupted.`;

interface Flags {
  yes: boolean;
  dryRun: boolean;
  json: boolean;
  organization: string;
  url: string | undefined;
  config: string;
}

interface Outcome {
  worker: string;
  account: string;
  url: string;
  secretsFile: string;
  secretsMade: string[];
  databasesMade: string[];
  migrationsApplied: Record<string, number>;
  organizationId: string | null;
  key: string | null;
  call: ServedCall | null;
}

const interruption = new AbortController();
const { signal } = interruption;
const done: string[] = [];
let current = '';

function interrupt(): void {
  interruption.abort(new Error('it was interrupted'));
}

/** Runs a step, and prints its name with its time. */
async function step<Result>(name: string, run: (tell: (line: string) => void) => Promise<Result>): Promise<Result> {
  signal.throwIfAborted();
  current = name;
  const startedAtMs = Date.now();
  console.error(name);
  const result = await run((line) => console.error(`  ${line}`));
  console.error(`  done in ${((Date.now() - startedAtMs) / 1000).toFixed(1)} s`);
  done.push(name);
  current = '';
  return result;
}

async function main(): Promise<void> {
  const flags = readFlags();
  if (!flags) return console.log(HELP);
  const configuration = readConfiguration(flags.config);
  const wrangler = new Wrangler(flags.config, signal);
  // Workers Builds, which the button uses, sets both.
  const isCi = Boolean(process.env.CI || process.env.WORKERS_CI);
  const file = secretsFile(flags, configuration);

  const { plan, found } = await step('check', async (tell) => {
    const read = await readSecretsFile(file);
    if (read.isMended) tell(`${file} could be read by others; now its owner alone can`);
    const known = isCi ? { ...read, values: { ...readSecrets(process.env, configuration), ...read.values } } : read;
    const made = await makePlan(wrangler, configuration, known, isCi);
    for (const line of planLines(made, configuration, file)) tell(line);
    for (const warning of made.warnings) tell(`NOTE: ${warning}`);
    return { plan: made, found: known };
  });
  if (flags.dryRun) {
    if (flags.json) console.log(JSON.stringify({ worker: configuration.worker, ...plan }, null, 2));
    return;
  }
  if (!flags.yes && !isCi) await confirm(configuration, plan);

  const secrets = await step('secrets', async (tell) => {
    const { make } = plan.secrets;
    if (make.length === 0) {
      tell('none is missing');
      return found;
    }
    const added = await addSecrets(file, Object.fromEntries(make.map((name) => [name, makeSecret()])));
    tell(`made ${make.join(', ')}, kept in ${file}: keep a copy, because Cloudflare does not show them again`);
    return added;
  });
  await step('databases', (tell) => createDatabases(wrangler, plan.databases, tell));
  const migrationsApplied = await step('tables', (tell) => applyMigrations(wrangler, configuration, tell));
  const targets = await step('worker', (tell) => {
    const sent = Object.fromEntries(plan.secrets.send.map((name) => [name, secrets.values[name] ?? '']));
    return uploadWorker(wrangler, configuration, sent, tell);
  });
  const url = flags.url ?? workerAddress(targets);
  if (!url) throw new Error(`wrangler named no address (${targets.join(', ') || 'no route'}): pass --url`);
  await step('service', (tell) => waitUntilServed(url, signal, tell));
  const { organizationId, key } = await step('setup', (tell) =>
    setUpWith(url, flags.organization, secrets, isCi, tell),
  );
  const usedKey = key ?? secrets.values[KEY_NAME];
  const call = await step('call', async (tell) => {
    if (!usedKey) {
      tell(`left out: there is no ${KEY_NAME} in ${file}`);
      return null;
    }
    const served = await serveCall({ url, credential: usedKey, access: accessHeaders() });
    tell(`call_begin and call_end of the customer ${CHECKED_CUSTOMER} are answered`);
    return served;
  });
  const outcome: Outcome = {
    ...{ worker: configuration.worker, account: plan.account, url },
    ...{ secretsFile: file, secretsMade: plan.secrets.make, databasesMade: plan.databases, migrationsApplied },
    ...{ organizationId, key, call },
  };
  console.log(flags.json ? JSON.stringify(outcome, null, 2) : deploymentText(outcome));
}

/** Without the operator's token, or if CI is set, the deployment is not checked: a key would appear in the log. */
async function setUpWith(
  url: string,
  name: string,
  { path, values }: SecretsFile,
  isCi: boolean,
  tell: (line: string) => void,
): Promise<SetUp> {
  const token = values.OPERATOR_TOKEN ?? process.env.OPERATOR_TOKEN;
  if (isCi || !token) {
    tell(isCi ? 'left out, because CI is set: use the console' : `left out: there is no OPERATOR_TOKEN in ${path}`);
    return { organizationId: null, key: null };
  }
  const target = { url, credential: token, access: accessHeaders() };
  const made = await setUp(target, name, values[KEY_NAME] !== undefined, tell);
  if (made.key !== null) await addSecrets(path, { [KEY_NAME]: made.key });
  return made;
}

function readFlags(): Flags | null {
  const { values } = parseArgs({
    options: {
      yes: { type: 'boolean', default: false },
      'dry-run': { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      organization: { type: 'string', default: 'My organization' },
      url: { type: 'string' },
      config: { type: 'string', default: CONFIG_DEFAULT },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return null;
  refuseOptionsOfNpm('npm run deploy', ['yes', 'dry-run', 'json']);
  if (values.organization.trim() === '') throw new UsageError('--organization must not be empty');
  return {
    ...{ yes: values.yes, dryRun: values['dry-run'], json: values.json, organization: values.organization },
    url: values.url === undefined ? undefined : serverUrl(values.url),
    config: resolve(PROJECT_DIR, values.config),
  };
}

/** One file for each Worker; SECRETS_FILE names another. */
function secretsFile({ config }: Flags, { worker }: Configuration): string {
  const name = config === resolve(PROJECT_DIR, CONFIG_DEFAULT) ? '.secrets' : `.secrets.${worker}`;
  return resolve(PROJECT_DIR, process.env.SECRETS_FILE ?? name);
}

function readSecrets(env: NodeJS.ProcessEnv, { secrets }: Configuration): Record<string, string> {
  return Object.fromEntries([...secrets, KEY_NAME].flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
}

function planLines({ account, isFirst, databases, secrets }: Plan, { worker }: Configuration, file: string): string[] {
  return [
    `account ${account}, Worker ${worker}: ${isFirst ? 'the first deployment' : 'deployed before'}`,
    databases.length > 0 ? `makes the D1 databases ${databases.join(', ')}` : 'the D1 databases are there',
    secrets.make.length > 0 ? `makes ${secrets.make.join(', ')} in ${file}` : `makes no secret`,
    secrets.send.length > 0 ? `sends ${secrets.send.join(', ')}, which the Worker lacks` : 'sends no secret',
  ];
}

async function confirm({ worker }: Configuration, { account }: Plan): Promise<void> {
  const asked = `Deploy ${worker} to account ${account}?`;
  if (!process.stdin.isTTY) throw new UsageError(`${asked} --yes is required without a terminal`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  terminal.once('SIGINT', interrupt);
  const answer = await terminal.question(`${asked} (y/n) `, { signal }).finally(() => terminal.close());
  if (!/^y(es)?$/i.test(answer.trim())) throw new Error('nothing was changed');
}

function deploymentText({ url, secretsFile, organizationId, key, call }: Outcome): string {
  const lines = [
    `Callmeter serves at ${url}`,
    '',
    `  console        ${url}/console (its token: OPERATOR_TOKEN in ${secretsFile})`,
    `  API reference  ${url}/docs`,
  ];
  if (organizationId) lines.push(`  organization   ${organizationId}`);
  if (key) lines.push(`  API key        ${key}`);
  if (key) lines.push(`                 shown this once, and kept in ${secretsFile} as ${KEY_NAME}`);
  if (call) lines.push(`  served call    ${call.callId}: ${call.allowed ? 'allowed' : 'denied'}, $${call.cost}`);
  lines.push(
    '',
    'For the operator commands:',
    '',
    `export CALLMETER_URL=${url}`,
    `export OPERATOR_TOKEN=$(sed -n 's/^OPERATOR_TOKEN=//p' ${secretsFile})`,
    '',
    'Next: docs/operate.md; what to watch, backups and a domain of your own: docs/deploy.md.',
  );
  return lines.join('\n');
}

for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, interrupt);

main().catch((error: Error) => {
  if (isUsageError(error)) {
    console.error(`${error.message.split('. ', 1)[0]}\n(--help explains the command)`);
    process.exitCode = 2;
    return;
  }
  const before = done.length > 1 ? `\nDone before: ${done.join(', ')}. Run the command again: it continues.` : '';
  const reason = signal.aborted ? signal.reason.message : error.message;
  console.error(`\nThe deployment stopped${current && ` at "${current}"`}: ${reason}${before}`);
  process.exitCode = signal.aborted ? 130 : 1;
});
