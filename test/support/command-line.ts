/**
 * The input of a suite's command line.
 */

/** The number of an option; throws if it is none, with the name of the option. */
export function wholeNumber(name: string, text: string | undefined, min: number, max: number): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < min || number > max)
    throw new Error(`--${name} must be a whole number from ${min} to ${max}`);
  return number;
}

/** The result of `parse`. An invalid command line ends the command: with the problem, and exit code 2. */
export function parsedOrExit<Command>(parse: () => Command): Command {
  try {
    return parse();
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
  }
}
