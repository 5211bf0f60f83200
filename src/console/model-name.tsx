/**
 * A model's name in the console, with a badge if the model is retired or ends.
 */

import { createContext, type FC, useContext } from 'hono/jsx';
import { asServed, daysLeft, statusOn } from '../catalog/lifecycle.ts';
import { matchModel } from '../catalog/matching.ts';
import { type Catalog, type CatalogModel, modelKeyOf } from '../catalog/model.ts';
import type { OrganizationId } from '../domain/ids.ts';
import { utcDay } from '../platform/time.ts';
import { calendarDay, plural } from '../ui/format.ts';
import { Badge } from '../ui/parts.tsx';
import { callsPath, modelPath } from './context.ts';

/** With at most this many days left, the badge is red. */
const SOON_DAYS = 30;

/** The catalog for names on a page, and the time of the page; `null` on pages before the sign-in. */
export const KnownModels = createContext<{ catalog: Catalog; nowMs: number } | null>(null);

/**
 * The name of a model from a call, as a link to the model in the catalog. If the catalog does not have it, the link
 * leads to the model's calls. Inside another link use `ModelName`.
 */
export const ModelLink: FC<{ name: string; organizationId: OrganizationId | null }> = ({ name, organizationId }) => {
  const known = useContext(KnownModels);
  const model = known && modelNamed(known, name);
  if (model)
    return (
      <>
        <a href={modelPath(modelKeyOf(model))}>{name}</a>
        {statusOn(model, utcDay(known.nowMs)) !== 'ACTIVE' && ' '}
        <ModelEnd model={model} nowMs={known.nowMs} />
      </>
    );
  if (organizationId === null) return <>{name}</>;
  return <a href={callsPath(organizationId, { model: name })}>{name}</a>;
};

/** The name of a model from a call. */
export const ModelName: FC<{ name: string }> = ({ name }) => {
  const known = useContext(KnownModels);
  const model = known && modelNamed(known, name);
  return (
    <>
      {name}
      {model && ' '}
      {model && <ModelEnd model={model} nowMs={known.nowMs} />}
    </>
  );
};

/** The model with this name. Its dates are those of the channel that the name states. */
function modelNamed({ catalog, nowMs }: { catalog: Catalog; nowMs: number }, name: string): CatalogModel | null {
  const match = matchModel(catalog, name, nowMs);
  return match && asServed(match.model, name);
}

/** The days left of a model, or that it is retired; nothing for a model in use. */
export const ModelEnd: FC<{ model: CatalogModel; nowMs: number }> = ({ model, nowMs }) => {
  const day = utcDay(nowMs);
  const status = statusOn(model, day);
  if (status === 'ACTIVE') return null;
  const left = daysLeft(model, day);
  const title = left === null ? 'no date yet' : `shutdown on ${calendarDay(model.lifecycle.shutdownAt ?? '')}`;
  if (status === 'RETIRED')
    return (
      <Badge tone="bad" title={title}>
        retired
      </Badge>
    );
  return (
    <Badge tone={left !== null && left <= SOON_DAYS ? 'bad' : 'warn'} title={title}>
      {left === null ? 'deprecated' : `${plural(left, 'day')} left`}
    </Badge>
  );
};
