/**
 * Promise: `docs/operate.md` says what each kind of request is answered while something is away, as the scenario of outages shows
 * it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../support/documents.ts';
import { outageTable } from '../support/outages.ts';

const FILE = join(ROOT, 'docs/operate.md');
/** The table is the beginning of this section. */
const SECTION = /(?<=^### While something is away\n\n)[\s\S]*?(?=\n\n\*\*The configuration\*\*)/m;

/** With RECORD_OUTAGES set, the table in the document becomes that of the scenario. */
const isRecording = process.env.RECORD_OUTAGES !== undefined;

test('the table is that of the scenario; RECORD_OUTAGES=1 writes it', () => {
  const text = readFileSync(FILE, 'utf8');
  expect(text).toMatch(SECTION);
  const recorded = text.replace(SECTION, () => outageTable());
  if (isRecording) writeFileSync(FILE, recorded);
  else expect(text).toBe(recorded);
});
