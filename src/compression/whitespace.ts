/**
 * Removes redundant whitespace: carriage returns, trailing whitespace, repeated blank lines, blank lines around the
 * text, and repeated spaces within a line.
 *
 * Indentation stays, because it has a meaning in lists, YAML and code; so do tabs, because they separate columns.
 */
export function trimWhitespace(prose: string): string {
  const kept: string[] = [];
  let blanks = 0;
  for (const raw of prose.replaceAll('\r\n', '\n').split('\n')) {
    const end = lengthWithoutTrailingBlanks(raw);
    if (end === 0) {
      blanks += 1;
      continue;
    }
    if (blanks > 0 && kept.length > 0) kept.push('');
    blanks = 0;
    kept.push(singleSpaced(raw, end));
  }
  return kept.join('\n');
}

/** A loop from the end: a regular expression would be quadratic on whitespace that is not at the end of a line. */
function lengthWithoutTrailingBlanks(line: string): number {
  let end = line.length;
  while (end > 0 && isBlank(line.charCodeAt(end - 1))) end -= 1;
  return end;
}

function singleSpaced(line: string, end: number): string {
  let indent = 0;
  while (isBlank(line.charCodeAt(indent))) indent += 1;
  return line.slice(0, indent) + line.slice(indent, end).replace(/ {2,}/g, ' ');
}

const isBlank = (code: number) => code === 0x20 || code === 0x09;
