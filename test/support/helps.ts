/**
 * `node test/support/helps.ts FILE ...`: what each program of this repository prints with `--help`, with a NUL after
 * each. The programs run in one process, so that what they share is loaded once.
 */
import { argv, stdout } from 'node:process';

const files = argv.splice(2, argv.length, '--help');
for (const file of files) {
  await import(file);
  stdout.write('\0');
}
