/**
 * What a suite's command line asks for.
 */

/** The number of an option; throws if it is none, with the name of the option. */
export function wholeNumber(name: string, text: string | undefined, min: number, max: number): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < min || number > max)
    throw new Error(`--${name} must be a whole number from ${min} to ${max}`);
  return number;
}

/**
 * What `parse` reads. A command line that says nothing that can be done ends the command: with what is wrong, and exit
 * code 2.
 */
export function parsedOrExit<Command>(parse: () => Command): Command {
  try {
    return parse();
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
  }
}
