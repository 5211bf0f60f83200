/**
 * Installs a Node of a given range from the npm registry into a folder, from the packages of which this project has its
 * own (optionalDependencies).
 */
import { join } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import { npmInstall } from './npm-install.ts';

/** Such as `-linux-x64`, the end of a package's name. */
const PLATFORM = `-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;

/** Resolves with the path of its program. `range` is one of npm's, such as `^24.0.0`. */
export async function installNode(folder: string, range: string, progress: (seconds: number) => void): Promise<string> {
  const name = Object.keys(manifest.optionalDependencies).find((one) => one.endsWith(PLATFORM));
  if (name === undefined) throw new Error(`npm has no package with a Node for ${process.platform} ${process.arch}`);
  await npmInstall(folder, { dependencies: { [name]: range } }, progress);
  return join(folder, 'node_modules', name, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
}
