/**
 * The file with a deployment's secrets, in dotenv format: made once, readable only by its owner, never printed.
 */
import { randomBytes } from 'node:crypto';
import { chmod, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { parseEnv } from 'node:util';

const MODE = 0o600;
/** The permissions of other users in a file's mode. */
const MODE_OF_OTHERS = 0o077;
const OPERATOR_TOKEN_LENGTH_MIN = 32;
const SECRET_BYTES = 32;

export interface SecretsFile {
  path: string;
  values: Readonly<Record<string, string>>;
  /** Other users could read it, and now cannot. */
  isMended: boolean;
}

/** Empty if the file does not exist. Removes other users' permissions from it. Throws if a value cannot be used. */
export async function readSecretsFile(path: string): Promise<SecretsFile> {
  const found = await stat(path).catch(orNull);
  if (!found) return { path, values: {}, isMended: false };
  const isMended = process.platform !== 'win32' && (found.mode & MODE_OF_OTHERS) !== 0;
  if (isMended) await chmod(path, MODE);
  const values = parseEnv(await readFile(path, 'utf8')) as Record<string, string>;
  const { OPERATOR_TOKEN: token } = values;
  if (token !== undefined && token.length < OPERATOR_TOKEN_LENGTH_MIN)
    throw new Error(`OPERATOR_TOKEN in ${path} must have at least ${OPERATOR_TOKEN_LENGTH_MIN} characters`);
  return { path, values, isMended };
}

/** Adds lines at its end, all or none. */
export async function addSecrets(path: string, added: Record<string, string>): Promise<SecretsFile> {
  const found = await readFile(path, 'utf8').catch(orNull);
  const before = found && !found.endsWith('\n') ? `${found}\n` : (found ?? '');
  const lines = Object.entries(added).map(([name, value]) => `${name}=${value}\n`);
  const next = `${path}.next`;
  await writeFile(next, before + lines.join(''), { mode: MODE });
  await rename(next, path);
  return readSecretsFile(path);
}

export function makeSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

function orNull(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}
