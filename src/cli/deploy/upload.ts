/**
 * Databases, their tables, and the Worker. Each step can be repeated: existing parts stay.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { experimental_readRawConfig } from 'wrangler';
import { type Configuration, ownName } from './configuration.ts';
import { type Wrangler, WranglerFailed } from './wrangler.ts';

/**
 * Cloudflare's codes: a namespace with that name exists; R2 is not enabled in the account, or a bucket does not exist.
 */
const NAMESPACE_EXISTS = 10014;
const R2_NOT_ENABLED = 10042;
const NO_BUCKET = 10085;

type Tell = (line: string) => void;

export async function createDatabases(wrangler: Wrangler, names: readonly string[], tell: Tell): Promise<void> {
  for (const name of names) {
    await wrangler.run(['d1', 'create', name]);
    tell(`made the D1 database ${name}`);
  }
  if (names.length === 0) tell('all databases are there');
}

/** Applies the missing migrations to every bound database; returns their number by binding. */
export async function applyMigrations(
  wrangler: Wrangler,
  { databases }: Configuration,
  tell: Tell,
): Promise<Record<string, number>> {
  const applied: Record<string, number> = {};
  for (const { binding } of databases) {
    const out = await wrangler.run(['d1', 'migrations', 'apply', binding, '--remote']);
    applied[binding] = new Set(out.match(/\b\d{4}_[\w-]+\.sql\b/g)).size;
    tell(`${binding}: ${applied[binding] || 'no'} migrations applied`);
  }
  return applied;
}

/** Uploads the Worker, with its missing secrets; wrangler makes missing namespaces and buckets. Returns its targets. */
export async function uploadWorker(
  wrangler: Wrangler,
  configuration: Configuration,
  secrets: Record<string, string>,
  tell: Tell,
): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'callmeter-secrets-'));
  try {
    const file = join(folder, 'secrets.json');
    await writeFile(file, JSON.stringify(secrets), { mode: 0o600 });
    const flags = Object.keys(secrets).length > 0 ? ['--secrets-file', file] : [];
    return await deploy(wrangler, configuration, flags, tell);
  } finally {
    await rm(folder, { recursive: true, force: true });
    await rm(uploadedConfig(configuration), { force: true });
  }
}

async function deploy(
  wrangler: Wrangler,
  configuration: Configuration,
  flags: readonly string[],
  tell: Tell,
): Promise<string[]> {
  try {
    return await wrangler.deploy(flags);
  } catch (error) {
    if (!(error instanceof WranglerFailed)) throw error;
    if (error.has(R2_NOT_ENABLED) || error.has(NO_BUCKET))
      throw new Error(
        `${error.message}\nR2 is not enabled in this account, or the token may not use it. Enable it in Cloudflare's dashboard, or remove [[r2_buckets]] from ${configuration.file}; the archive is optional`,
      );
    if (error.has(NAMESPACE_EXISTS)) return deployWithFound(wrangler, configuration, flags, tell);
    throw error;
  }
}

/**
 * A deployment may have ended after wrangler had made the namespace, and before the Worker was bound to it: wrangler
 * would make it again, which always fails. So it gets the id, in a copy of the configuration.
 */
async function deployWithFound(
  wrangler: Wrangler,
  configuration: Configuration,
  flags: readonly string[],
  tell: Tell,
): Promise<string[]> {
  const { file, worker, namespaces } = configuration;
  const found = await wrangler.json<{ id: string; title: string }[]>(['kv', 'namespace', 'list']);
  const namespaceId = ({ binding, id }: Configuration['namespaces'][number]) =>
    id ?? found.find(({ title }) => title === ownName(worker, binding))?.id;
  for (const one of namespaces)
    tell(`${one.binding}: the namespace of an earlier attempt, ${namespaceId(one) ?? 'or a new one'}`);
  const { rawConfig } = experimental_readRawConfig({ config: file });
  const bound = namespaces.map((one) => ({ binding: one.binding, id: namespaceId(one) }));
  const copy = uploadedConfig(configuration);
  await writeFile(copy, JSON.stringify({ ...rawConfig, kv_namespaces: bound }));
  return wrangler.with(copy).deploy(flags);
}

/**
 * The copy is beside the original, because its paths are relative to the folder. It is removed after the upload,
 * together with one of an earlier run.
 */
function uploadedConfig({ file }: Configuration): string {
  return join(dirname(file), '.wrangler-deploy.json');
}

/**
 * The address of the Worker, by wrangler's targets: workers.dev before a custom domain, whose certificate takes longer.
 */
export function workerAddress(targets: readonly string[]): string | undefined {
  const address = targets.find((target) => target.startsWith('https://'));
  const domain = targets.map((target) => /^(\S+) \(custom domain/.exec(target)?.[1]).find(Boolean);
  return address ?? (domain && `https://${domain}`);
}
