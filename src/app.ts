/**
 * The app: middleware order, mounted route groups, one place for errors.
 */
import { Hono } from 'hono';
import { getPath } from 'hono/utils/url';
import { mountConsole } from './console/app.tsx';
import { useContractMessages } from './contract/messages.ts';
import { LOOKUP_PATH } from './contract/model-lookup.ts';
import { type AppEnv, requestContext } from './http/middleware/context.ts';
import { onError, onNotFound } from './http/middleware/error-envelopes.ts';
import { mountBrowserAccess } from './http/routes/browsers.ts';
import { mountCalls } from './http/routes/calls.ts';
import { mountCompression } from './http/routes/compression.ts';
import { mountCustomers } from './http/routes/customers.ts';
import { gateway, gatewayNotFound } from './http/routes/gateway.ts';
import { modelLookup } from './http/routes/model-lookup.ts';
import { mountMethodNotAllowed } from './http/routes/mount.ts';
import { mountOperator } from './http/routes/operator.ts';
import { mountReadings } from './http/routes/readings.ts';
import { requestFigures } from './http/routes/request-figures.ts';
import { mountSampling } from './http/routes/sampling.ts';
import { mountSessions } from './http/routes/sessions.ts';
import { mountWebhooks } from './http/routes/webhooks.ts';
import { mountDocs } from './site/routes/docs.ts';
import { mountEmbed } from './site/routes/embed.ts';
import { errorsForBrowsers, mountHome, withoutSlashAtEnd } from './site/routes/home.ts';
import { mountModels } from './site/routes/models.ts';

/** Clients of vendors send their requests below this. */
const GATEWAY_PATH = /^\/v1(?:beta)?(?:\/|$)/;

export function createApp(): Hono<AppEnv> {
  useContractMessages();
  const app = new Hono<AppEnv>({ getPath: normalizedPath });
  app.use(withoutSlashAtEnd);
  app.use(errorsForBrowsers);
  mountHome(app);
  // Mounted before the request context: the answers of the lookup and the public pages have no correlation id, and may
  // be cached.
  app.route(LOOKUP_PATH, modelLookup());
  mountDocs(app);
  mountModels(app);
  mountEmbed(app);
  app.use(requestContext);
  app.use(requestFigures);
  app.notFound((c) => (GATEWAY_PATH.test(c.req.path) ? gatewayNotFound(c) : onNotFound(c)));
  app.onError(onError);
  app.route('/', gateway());
  mountBrowserAccess(app);
  mountCalls(app);
  mountCustomers(app);
  mountReadings(app);
  mountSampling(app);
  mountCompression(app);
  mountSessions(app);
  mountOperator(app);
  mountWebhooks(app);
  mountConsole(app);
  mountMethodNotAllowed(app);
  return app;
}

/**
 * The path of a request; below `/v1/`, a slash at its end has no meaning. In the lookup it would end a model's name.
 */
function normalizedPath(request: Request): string {
  const path = getPath(request);
  const isLoose = GATEWAY_PATH.test(path) && !path.startsWith(LOOKUP_PATH);
  return isLoose && path.endsWith('/') ? path.slice(0, -1) : path;
}
