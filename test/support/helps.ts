/**
 * `node test/support/helps.ts FILE ...`: the `--help` output of each program of this repository, with a NUL after each.
 * The programs run in one process, so that shared modules are loaded once.
 */
import { argv, stdout } from 'node:process';

const files = argv.splice(2, argv.length, '--help');
for (const file of files) {
  await import(file);
  stdout.write('\0');
}
