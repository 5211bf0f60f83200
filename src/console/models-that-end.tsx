/**
 * The models in use that end, of all organizations of the overview: the first to end, with what replaces each.
 */
import type { FC } from 'hono/jsx';
import type { Organization } from '../contract/operator.ts';
import type { Env } from '../env.ts';
import type { RadarModel, RadarView } from '../radar/models.ts';
import { readModelsOnRadar } from '../radar/read-radar.ts';
import { type RadarReplacement, replacementFor } from '../radar/replacement.ts';
import { Card, Compact, Nothing, Usd } from '../ui/parts.tsx';
import { Table } from '../ui/table.tsx';
import { organizationPath } from './context.ts';
import { ModelName } from './model-name.tsx';

const SHOWN_MAX = 10;

export interface EndingModel {
  organization: Pick<Organization, 'organizationId' | 'name'>;
  model: RadarModel;
}

export type ReplacedModel = EndingModel & { replacement: RadarReplacement };

/** The models of an organization that end, or that have ended. */
export async function readEndingModels(env: Env, organization: Organization, view: RadarView): Promise<EndingModel[]> {
  const models = await readModelsOnRadar(env, { ...organization, retention: organization }, view);
  return models
    .filter(({ reasons }) => reasons.some((reason) => reason === 'ENDING' || reason === 'RETIRED'))
    .map((model) => ({ organization, model }));
}

/** The first to end, with their replacements. */
export function firstToEnd(view: RadarView, ending: readonly EndingModel[]): Promise<ReplacedModel[]> {
  const shown = ending
    .toSorted((a, b) => (a.model.daysLeft ?? 0) - (b.model.daysLeft ?? 0) || byCost(a.model, b.model))
    .slice(0, SHOWN_MAX);
  return Promise.all(shown.map(async (one) => ({ ...one, replacement: await replacementFor(view, one.model) })));
}

function byCost(a: RadarModel, b: RadarModel): number {
  return a.costNanoUsd === b.costNanoUsd ? 0 : a.costNanoUsd < b.costNanoUsd ? 1 : -1;
}

export const ModelsThatEnd: FC<{ models: ReplacedModel[]; more: number }> = ({ models, more }) =>
  models.length === 0 ? null : (
    <Card title="Models that end" note={more > 0 ? `The first ${SHOWN_MAX} to end, and ${more} more.` : undefined}>
      <Table
        caption="Models in use that end"
        rows={models}
        columns={[
          { title: 'Model', heading: true, cell: ({ model }) => <ModelName name={model.modelKey} /> },
          { title: 'Shutdown', cell: ({ model }) => model.shutdownAt ?? <Nothing /> },
          {
            title: 'Organization',
            cell: ({ organization }) => <a href={organizationPath(organization.organizationId)}>{organization.name}</a>,
          },
          { title: 'Replacement', cell: ({ replacement }) => replacement.modelKey ?? <Nothing /> },
          { title: 'Calls', figure: true, cell: ({ model }) => <Compact value={model.calls} /> },
          { title: 'Cost', figure: true, cell: ({ model }) => <Usd nano={model.costNanoUsd} /> },
        ]}
      />
    </Card>
  );
