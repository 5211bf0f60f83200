/**
 * The app: middleware order, mounted route groups, one place for errors.
 */
import { Hono } from 'hono';
import { useContractMessages } from './contract/messages.ts';
import { LOOKUP_PATH } from './contract/model-lookup.ts';
import { type AppEnv, requestContext } from './middleware/context.ts';
import { onError, onNotFound } from './middleware/errors.ts';
import { mountCalls } from './routes/calls.ts';
import { mountCustomers } from './routes/customers.ts';
import { modelLookup } from './routes/model-lookup.ts';
import { mountMethodNotAllowed } from './routes/mount.ts';
import { mountOperator } from './routes/operator.ts';
import { mountReadings } from './routes/readings.ts';
import { mountSessions } from './routes/sessions.ts';

export function createApp(): Hono<AppEnv> {
  useContractMessages();
  const app = new Hono<AppEnv>();
  // Before the request context: the lookup is public, has no envelope, and may be cached.
  app.route(LOOKUP_PATH, modelLookup());
  app.use(requestContext);
  app.notFound(onNotFound);
  app.onError(onError);
  mountCalls(app);
  mountCustomers(app);
  mountReadings(app);
  mountSessions(app);
  mountOperator(app);
  mountMethodNotAllowed(app);
  return app;
}
