/**
 * The public pages of a model that ends: how long it may be used, its replacement, and no advice that contradicts this.
 */
import { describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { type CatalogModel, modelKeyOf } from '../../src/catalog/model.ts';
import { resolveKey } from '../../src/catalog/resolution.ts';
import { NO_REVIEWS } from '../../src/catalog/reviews.ts';
import { LookupQuery } from '../../src/contract/model-lookup.ts';
import { presentFull } from '../../src/lookup/answers.ts';
import { listed } from '../../src/lookup/find-models.ts';
import { catalogPage } from '../../src/site/models/list-pages.tsx';
import { modelPage } from '../../src/site/models/model-page.tsx';

const DAY = '2026-11-25';
const NOW_MS = Date.parse(`${DAY}T12:00:00Z`);
const { response: _response, ...POLICY } = LookupQuery.parse({});
const view = { catalog: BUILT_IN_CATALOG, reviews: NO_REVIEWS, nowMs: NOW_MS };

/** A model with a shutdown, a shorter name and a successor, some days before its end. */
function ending(shutdownAt: string): CatalogModel {
  const alive = BUILT_IN_CATALOG.models.find(
    ({ preferredAlias, model, lifecycle }) =>
      preferredAlias !== undefined && preferredAlias !== model && lifecycle.status === 'ACTIVE',
  );
  const successor = BUILT_IN_CATALOG.models.find((model) => model.lifecycle.status === 'ACTIVE' && model !== alive);
  if (!alive || !successor) throw new Error('the catalog has models in use, some with a shorter name');
  const replacement = modelKeyOf(successor);
  return { ...alive, lifecycle: { ...alive.lifecycle, announcedAt: '2026-06-01', shutdownAt, replacement } };
}

/** The words of a model's page. */
async function renderModelPage(model: CatalogModel): Promise<{ words: string; asksToRename: boolean | undefined }> {
  const key = modelKeyOf(model);
  const models = BUILT_IN_CATALOG.models.map((other) => (modelKeyOf(other) === key ? model : other));
  const catalog = { ...BUILT_IN_CATALOG, models };
  const requested = { modelKey: key, provider: model.provider, model: model.model, decorated: false };
  const resolution = presentFull(await resolveKey(catalog, requested, POLICY, DAY), POLICY, {
    catalog,
    problem: null,
    day: DAY,
  });
  const { daysLeft } = listed({ ...view, catalog }, model);
  const html = await modelPage({ model, daysLeft, reportedEnds: [], resolution }, 'https://callmeter.test');
  return { words: visibleWords(html), asksToRename: resolution.keyGuidance?.shouldUpdate };
}

function visibleWords(html: string): string {
  return html.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
}

describe('the page of a model that ends', () => {
  test.each([
    ['2026-11-26', '1 day left', '26 Nov 2026'],
    ['2026-12-07', '12 days left', '7 Dec 2026'],
    ['2027-11-25', '365 days left', '25 Nov 2027'],
  ])('with the shutdown on %s says first: %s', async (shutdownAt, left, day) => {
    const { words } = await renderModelPage(ending(shutdownAt));
    expect(words).toContain(`${left} , until the shutdown on ${day}`);
    expect(words.indexOf(left)).toBeLessThan(words.indexOf('Move to'));
  });

  test('does not ask to write its shorter name, which ends as well', async () => {
    const model = ending('2026-12-07');
    const { words, asksToRename } = await renderModelPage(model);
    expect(asksToRename).toBe(true);
    expect(words).not.toContain(`Write ${model.provider}/${model.preferredAlias}`);
  });

  test('a model that stays does ask for it, and counts no days', async () => {
    const { lifecycle: _ends, ...model } = ending('2026-12-07');
    const alive = BUILT_IN_CATALOG.models.find((one) => modelKeyOf(one) === modelKeyOf(model as CatalogModel));
    if (!alive) throw new Error('it is in the catalog');
    const { words } = await renderModelPage(alive);
    expect(words).toContain(`Write ${model.provider}/${model.preferredAlias}`);
    expect(words).not.toMatch(/days? left/);
  });
});

test('the list has the days that are left and the replacement', async () => {
  const model = ending('2026-12-07');
  const row = listed(view, model);
  expect(row).toMatchObject({ daysLeft: 12, replacementModelKey: model.lifecycle.replacement });
  const html = await catalogPage(
    { catalogVersion: 'v', total: 1, ending: [row], newest: [] },
    'https://callmeter.test',
  );
  expect(html).toMatch(/data-label="Days left"[^>]*>12</);
  expect(html).toMatch(new RegExp(`data-label="Replacement"[^>]*><a href="/models/${model.lifecycle.replacement}"`));
});

test('a model that has ended has no days left, and one in use needs no replacement', () => {
  expect(listed(view, ending('2026-11-25'))).toMatchObject({ status: 'RETIRED', daysLeft: null });
  const alive = BUILT_IN_CATALOG.models.find(({ lifecycle }) => lifecycle.status === 'ACTIVE' && !lifecycle.shutdownAt);
  if (!alive) throw new Error('the catalog has models in use');
  expect(listed(view, alive)).toMatchObject({ daysLeft: null, replacementModelKey: null });
});
