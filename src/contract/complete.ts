/**
 * Complete: the data of an answer with every optional member named, if only as undefined, at every depth. Code that
 * builds an answer returns it, so that code without an optional member does not compile. JSON leaves undefined out.
 */
export type Complete<Data> = Data extends string
  ? Data
  : Data extends object
    ? { [Name in keyof Data]-?: Complete<Data[Name]> }
    : Data;

/** A value that is answered unchanged. Its type must have every member that the answer may have. */
export const complete = <Data>(value: Data) => value as Complete<Data>;
