/**
 * What a suite's command line asks for. One that says nothing that can be done ends the command: with what is wrong, and
 * exit code 2.
 */
export function parsedOrExit<Command>(parse: () => Command): Command {
  try {
    return parse();
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
  }
}
