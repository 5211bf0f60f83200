/**
 * The contents of the real home, because some programs ignore `HOME`: the names in it, and in its folders for settings,
 * caches and data.
 */
import { readdir } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';

const FOLDERS = ['', '.config', '.cache', '.local/share', '.local/state', '.wrangler', '.cloudflared'];

export async function namesAtHome(): Promise<string[]> {
  const { homedir } = userInfo();
  const names = await Promise.all(
    FOLDERS.map(async (folder) => {
      const found = await readdir(join(homedir, folder)).catch(() => []);
      return found.map((name) => join(homedir, folder, name));
    }),
  );
  return names.flat();
}
