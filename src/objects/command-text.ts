/**
 * Commands of the busiest methods cross to a customer's object as JSON text, because one string costs less to send than
 * the object that it represents. The type of a text names the command in it, so caller and object cannot disagree.
 */

declare const command: unique symbol;

/** A `Command` as JSON. `Command` is plain JSON: money in it is a decimal string. */
export type CommandText<Command extends object> = string & { readonly [command]: Command };

/**
 * The destination of the text determines `Command`, never the argument: a misspelt or unknown field does not compile.
 */
export function sendCommand<Command extends object = never>(value: NoInfer<Command>): CommandText<Command> {
  return JSON.stringify(value) as CommandText<Command>;
}

export function receiveCommand<Command extends object>(text: CommandText<Command>): Command {
  return JSON.parse(text) as Command;
}
