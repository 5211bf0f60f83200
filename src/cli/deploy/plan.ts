/**
 * The plan of a deployment: decided from the state of Cloudflare and this machine, before anything is changed.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Configuration } from './configuration.ts';
import type { SecretsFile } from './secrets-file.ts';
import { type Wrangler, WranglerFailed } from './wrangler.ts';

const PROJECT_DIR = join(import.meta.dirname, '..', '..', '..');

/** The API key for the served request, in the secrets file. It is not a secret of the Worker. */
export const KEY_NAME = 'CALLMETER_KEY';

export interface Plan {
  account: string;
  isFirst: boolean;
  /** The names of databases to make. */
  databases: string[];
  secrets: SecretsPlan;
  warnings: string[];
}

interface SecretsPlan {
  /** The names of values to make. */
  make: string[];
  /** Names that the Worker lacks. */
  send: string[];
  /** Required names that the Worker has and the file does not. */
  unknown: string[];
}

interface Account {
  id: string;
  name: string;
}

export async function makePlan(
  wrangler: Wrangler,
  configuration: Configuration,
  { values, path }: Pick<SecretsFile, 'values' | 'path'>,
  isCi: boolean,
): Promise<Plan> {
  // Asked first and alone: if nobody is logged in, other commands fail with wrangler's own messages.
  const account = await findAccount(wrangler);
  const [deployed, names, uncommitted] = await Promise.all([
    findSecrets(wrangler),
    wrangler.json<{ name: string }[]>(['d1', 'list', '--json']).then((all) => new Set(all.map(({ name }) => name))),
    findUncommitted(),
  ]);
  const withoutId = configuration.databases.filter(({ id }) => id === undefined).map(({ name }) => name);
  const secrets = planSecrets(configuration.secrets, deployed, values);
  if (isCi && secrets.make.length > 0)
    throw new Error(
      `the Worker lacks ${secrets.make.join(', ')}, and if CI is set no secret is made, because nobody would keep it. Set them as secrets of the Worker, or in the environment of this command`,
    );
  const warnings = [];
  if (secrets.unknown.length > 0)
    warnings.push(`the Worker has ${secrets.unknown.join(', ')}, and ${path} does not: what it has stays as it is`);
  if (deployed === null && secrets.make.includes('VENDOR_KEY_SECRET') && withoutId.some((name) => names.has(name)))
    warnings.push(
      `the database is there already. If it is of an earlier deployment, put the secrets of that one in ${path} first: vendor keys and secrets of webhooks cannot be read with new ones`,
    );
  if (uncommitted.length > 0)
    warnings.push(`migrations that are not committed would be applied for good: ${uncommitted.join(', ')}`);
  return {
    account: `${account.name} (${account.id})`,
    isFirst: deployed === null,
    databases: withoutId.filter((name) => !names.has(name)),
    secrets,
    warnings,
  };
}

/** A secret that the Worker has is never sent again: its value may differ, and stored data is encrypted under it. */
function planSecrets(
  required: readonly string[],
  deployed: ReadonlySet<string> | null,
  values: Readonly<Record<string, string>>,
): SecretsPlan {
  const make = required.filter((name) => !deployed?.has(name) && !values[name]);
  const own = Object.keys(values).filter((name) => name !== KEY_NAME && values[name]);
  return {
    make,
    send: [...make, ...own.filter((name) => !deployed?.has(name))],
    unknown: required.filter((name) => deployed?.has(name) && !values[name]),
  };
}

async function findAccount(wrangler: Wrangler): Promise<Account> {
  const { loggedIn, accounts = [] } = await wrangler
    .json<{ loggedIn: boolean; accounts?: Account[] }>(['whoami', '--json'])
    .catch((error: unknown): { loggedIn: boolean; accounts?: Account[] } => {
      // The command prints an answer, and fails, if nobody is logged in.
      if (error instanceof WranglerFailed && /"loggedIn": *false/.test(error.output)) return { loggedIn: false };
      throw error;
    });
  if (!loggedIn)
    throw new Error(
      'wrangler is not logged in: run `npm run -s wrangler -- login`, or set CLOUDFLARE_API_TOKEN and CLOUDFLARE_ACCOUNT_ID',
    );
  const { CLOUDFLARE_ACCOUNT_ID: id } = process.env;
  const [first, second] = accounts;
  const account = id === undefined ? first : (accounts.find((one) => one.id === id) ?? { id, name: 'account' });
  if (!account) throw new Error('wrangler found no account: set CLOUDFLARE_ACCOUNT_ID');
  if (id === undefined && second)
    throw new Error(
      `there are ${accounts.length} accounts; set CLOUDFLARE_ACCOUNT_ID to one of: ${accounts.map((one) => `${one.id} (${one.name})`).join(', ')}`,
    );
  return account;
}

/** The names of the Worker's secrets; `null` if the Worker does not exist. */
async function findSecrets(wrangler: Wrangler): Promise<Set<string> | null> {
  try {
    const found = await wrangler.json<{ name: string }[]>(['secret', 'list', '--format', 'json']);
    return new Set(found.map(({ name }) => name));
  } catch (error) {
    if (error instanceof WranglerFailed && /^.*Worker ".*" not found/m.test(error.output)) return null;
    throw error;
  }
}

/** Migration files that differ from git's; none without git. */
async function findUncommitted(): Promise<string[]> {
  const asked = promisify(execFile)('git', ['status', '--porcelain', '--', 'd1-migrations'], { cwd: PROJECT_DIR });
  const { stdout } = await asked.catch(() => ({ stdout: '' }));
  const files = stdout.split('\n').map((line) => line.slice(3));
  return files.filter((file) => file.endsWith('.sql'));
}
