/**
 * Promise: an event of an organization gets a position when it is committed, which no other event ever gets; older
 * events have positions in the order of their ids.
 */

import { expect, test } from 'vitest';
import { asCustomerId, asOrganizationId } from '../../src/domain/ids.ts';
import { projectionStatements } from '../../src/history/projection.ts';
import type { ProjectionPage } from '../../src/objects/projection-page.ts';
import { asD1, MIGRATION_NAMES, migrate, openD1, runBatch } from '../support/d1.ts';

const COLUMNS = ['organization_id', 'event_id', 'customer_id', 'type', 'at_ms', 'revision', 'record'];

function projectionPage(customerId: string, ...ids: string[]): ProjectionPage {
  const changes = ids.map((id) => ({
    kind: 'event' as const,
    id,
    revision: 1,
    values: JSON.stringify(['s', 'org', id, customerId, 'balance.low', 7, 1, { customerId }]),
  }));
  return {
    organizationId: asOrganizationId('org'),
    customerId: asCustomerId(customerId),
    subscriptionId: 's',
    columns: { event: COLUMNS },
    changes,
  };
}

test('a migration keeps the events there are, in the order of their ids', () => {
  const at = MIGRATION_NAMES.findIndex((name) => name.endsWith('_webhooks.sql'));
  const db = openD1(MIGRATION_NAMES.slice(0, at));
  const insert = db.prepare("INSERT INTO organization_events VALUES (?, ?, 'ann', 'balance.low', 7, json(?), 1)");
  for (const [index, id] of ['evt_3', 'evt_1', 'evt_4', 'evt_2'].entries())
    insert.run(index % 2 === 0 ? 'org' : 'other', id, JSON.stringify({ n: index }));
  for (const name of MIGRATION_NAMES.slice(at)) migrate(db, name);
  const rows = db.prepare('SELECT place, organization_id, event_id, record, revision FROM organization_events').all();
  expect(rows.map((row) => ({ ...row }))).toEqual([
    { place: 1, organization_id: 'other', event_id: 'evt_1', record: '{"n":1}', revision: 1 },
    { place: 2, organization_id: 'other', event_id: 'evt_2', record: '{"n":3}', revision: 1 },
    { place: 3, organization_id: 'org', event_id: 'evt_3', record: '{"n":0}', revision: 1 },
    { place: 4, organization_id: 'org', event_id: 'evt_4', record: '{"n":2}', revision: 1 },
  ]);
  db.close();
});

test('an event that is sent twice keeps its place, a late one comes after those before it, and no place is used again', () => {
  const db = openD1();
  const send = (page: ProjectionPage) => runBatch(db, projectionStatements(asD1(db), [page]));
  const places = () =>
    Object.fromEntries(
      db
        .prepare('SELECT event_id, place FROM organization_events ORDER BY place')
        .all()
        .map(({ event_id, place }) => [event_id, place]),
    );
  send(projectionPage('ann', 'evt_5', 'evt_7'));
  const first = places();
  expect(Object.keys(first)).toEqual(['evt_5', 'evt_7']);
  send(projectionPage('ann', 'evt_7', 'evt_5'));
  expect(places()).toEqual(first);
  send(projectionPage('bob', 'evt_1'));
  expect(places().evt_1).toBeGreaterThan(Number(first.evt_7));
  const last = Number(places().evt_1);
  db.exec("DELETE FROM organization_events WHERE event_id = 'evt_1'");
  send(projectionPage('cho', 'evt_9'));
  expect(places().evt_9).toBeGreaterThan(last);
  db.close();
});
