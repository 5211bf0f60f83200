/**
 * Complete: the data of an answer with every optional member named, if only as undefined, at every depth. Code that builds an
 * answer returns it, so that an optional member which nothing ever sends does not compile. JSON leaves undefined out.
 */
export type Complete<Data> = Data extends string
  ? Data
  : Data extends object
    ? { [Name in keyof Data]-?: Complete<Data[Name]> }
    : Data;

/** A value that is answered as it is. Its type has to have every member that the answer may have of it. */
export const complete = <Data>(value: Data) => value as Complete<Data>;
