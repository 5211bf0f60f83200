/**
 * Options that npm took for itself: `npm start --fresh` gives `--fresh` to npm, which sets a variable and drops it.
 */

/**
 * Throws if npm has taken an option that the command does not have. `options` are the command's flags without dashes;
 * `command` is the command's spelling for npm.
 */
export function refuseOptionsOfNpm(
  command: string,
  options: readonly string[],
  { argv = process.argv.slice(2), env = process.env }: { argv?: readonly string[]; env?: NodeJS.ProcessEnv } = {},
): void {
  const taken = options.filter((option) => env[`npm_config_${option.replaceAll('-', '_')}`] === 'true');
  const lost = taken.filter((option) => !argv.includes(`--${option}`)).map((option) => `--${option}`);
  if (lost.length > 0) throw new Error(`npm took ${lost.join(' ')} for itself; write ${command} -- ${lost.join(' ')}`);
}
