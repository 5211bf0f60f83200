/**
 * The imports between the repository's files, read from their text: the arrows between rooms, the tests that notice a
 * mutant, and the tests that a change concerns. Paths are relative to the root, with slashes.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

export interface Import {
  path: string;
  typeOnly: boolean;
}

/** The relative imports of a source: `import`, `import type`, `export from`, bare `import ''` and `import()`. */
export function importsOf(source: string): Import[] {
  const statements = source.matchAll(
    /^\s*(?:import|export)\s+(type\s)?(?:[\w*{][\w\s*{},$]*?\sfrom\s*)?['"](\.{1,2}\/[^'"]+)['"]|\bimport\(\s*['"`](\.{1,2}\/[^'"`]+)['"`]/gm,
  );
  return [...statements].map(([, type, path, dynamic]) => ({
    path: path ?? dynamic ?? '',
    typeOnly: type !== undefined,
  }));
}

const read = new Map<string, { source: string; targets: string[] }>();

/** The text of a file and the files that it imports; nothing for a file that does not exist. */
export function readFileImports(file: string): { source: string; targets: string[] } {
  const known = read.get(file);
  if (known) return known;
  const source = existsSync(join(ROOT, file)) ? readFileSync(join(ROOT, file), 'utf8') : '';
  const targets = importsOf(source).map(({ path }) => posix.join(dirname(file), path));
  const found = { source, targets };
  read.set(file, found);
  return found;
}

const reached = new Map<string, ReadonlyMap<string, number>>();

/** The files that a file imports, directly or not, with the number of steps to each; itself at 0. */
export function reachedFrom(file: string): ReadonlyMap<string, number> {
  const known = reached.get(file);
  if (known) return known;
  const steps = new Map([[file, 0]]);
  for (let ring = [file], step = 1; ring.length > 0; step += 1) {
    ring = ring.flatMap((from) => readFileImports(from).targets).filter((to) => !steps.has(to) && steps.set(to, step));
  }
  reached.set(file, steps);
  return steps;
}
