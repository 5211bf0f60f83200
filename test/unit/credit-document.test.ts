/**
 * Promise: docs/credit.md says for each billable use of a request whether credit pays for it, as the rules decide it
 * today; and a use that credit pays for has an exact cost within its hold.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { endpointAt, fieldsAt } from '../../src/gateway/demand/endpoints.ts';
import { readRequest } from '../../src/gateway/demand/read.ts';
import type { Bill, Members, Rule, TypedMembers } from '../../src/gateway/demand/rules.ts';
import { ASKED, CONVERSATIONS, OTHERS, probeBody, probesAt, ROWS } from '../support/credit-requests.ts';
import { creditTables } from '../support/credit-table.ts';
import { ROOT } from '../support/documents.ts';

const FILE = join(ROOT, 'docs/credit.md');
/** The tables are this section of the document. */
const SECTION = /(?<=^## What each request can ask for\n\n)[\s\S]*?(?=\n\n## )/m;

/** With RECORD_CREDIT set, the tables in the document become those of the rules. */
const isRecording = process.env.RECORD_CREDIT !== undefined;

test('the tables are those of the rules; RECORD_CREDIT=1 writes them', async () => {
  const tables = await creditTables();
  const text = readFileSync(FILE, 'utf8');
  expect(text).toMatch(SECTION);
  const recorded = text.replace(SECTION, () => tables);
  if (isRecording) writeFileSync(FILE, recorded);
  else expect(text).toBe(recorded);
});

test.each([...CONVERSATIONS, ...OTHERS])('the tables have each kind of bill that a field of %s can make', (name) => {
  const { path, kind } = ASKED[name];
  const endpoint = endpointAt(path);
  if (endpoint === undefined) throw new Error(`${path} is no endpoint`);
  const fields = fieldsAt(endpoint, kind);
  const shown = ROWS.flatMap((row) => probesAt(row, name)).flatMap((probe) => [
    ...readRequest(fields, probeBody(name, probe)).bills.keys(),
  ]);
  expect([...new Set(shown)].toSorted()).toEqual([...new Set(billsOf(fields))].toSorted());
});

function billsOf(members: Members): Bill[] {
  return Object.values(members).flatMap(billsOfRule);
}

function billsOfRule(rule: Rule): Bill[] {
  if (typeof rule === 'string' || 'only' in rule) return [];
  if ('bills' in rule) return [rule.bills, ...billsOfRule(rule.of)];
  if ('closed' in rule) return billsOfRule(rule.of);
  if ('text' in rule) return [...billsOfRule(rule.text), ...billsOfRule(rule.object)];
  if ('list' in rule) return billsOfRule(rule.list);
  if ('members' in rule) return billsOf(rule.members);
  return [...Object.values(rule.types), ...(rule.untyped ? [rule.untyped] : [])].flatMap(billsOfTyped);
}

function billsOfTyped({ bills, members }: TypedMembers): Bill[] {
  return [...(bills === undefined ? [] : [bills]), ...billsOf(members)];
}
