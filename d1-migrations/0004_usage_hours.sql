CREATE TABLE `usage_hours` (
	`organization_id` text NOT NULL,
	`customer_id` text NOT NULL,
	`hour_ms` integer NOT NULL,
	`feature` text NOT NULL,
	`provider` text NOT NULL,
	`model` text NOT NULL,
	`outcome` text NOT NULL,
	`calls` integer NOT NULL,
	`unpriced_calls` integer NOT NULL,
	`input_tokens` integer NOT NULL,
	`cached_input_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`reasoning_tokens` integer NOT NULL,
	`searches` integer NOT NULL,
	`cost_nano_usd` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `hour_ms`, `customer_id`, `feature`, `provider`, `model`, `outcome`)
);
--> statement-breakpoint
CREATE INDEX `usage_hours_by_customer` ON `usage_hours` (`organization_id`,`customer_id`,`hour_ms`);
--> statement-breakpoint
-- Every ended call counts in the hour of its end. A call that is recorded anew (a late end, a settled charge) counts once.
CREATE TRIGGER `usage_hours_of_new_calls` AFTER INSERT ON `calls` BEGIN
  INSERT INTO usage_hours (organization_id, customer_id, hour_ms, feature, provider, model, outcome, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
  SELECT NEW.organization_id, NEW.customer_id, COALESCE(NEW.finished_at_ms, NEW.started_at_ms) / 3600000 * 3600000, COALESCE(NEW.feature, ''),
    CASE WHEN INSTR(COALESCE(NEW.model_key, ''), '/') > 0 THEN SUBSTR(NEW.model_key, 1, INSTR(NEW.model_key, '/') - 1) ELSE LOWER(COALESCE(NEW.provider_used, '')) END,
    COALESCE(NEW.model_key, NEW.model_used, ''), NEW.status, 1, CASE WHEN NEW.status IN ('COMPLETED', 'FAILED') AND NEW.cost_nano_usd IS NULL THEN 1 ELSE 0 END,
    COALESCE(NEW.input_tokens, 0), COALESCE(NEW.cached_input_tokens, 0), COALESCE(NEW.response_tokens, 0),
    COALESCE(NEW.reasoning_tokens, 0), COALESCE(NEW.searches, 0), COALESCE(NEW.cost_nano_usd, 0)
  WHERE NEW.status <> 'IN_PROGRESS'
  ON CONFLICT DO UPDATE SET
    calls = calls + 1,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    searches = searches + excluded.searches,
    cost_nano_usd = cost_nano_usd + excluded.cost_nano_usd;
END;
--> statement-breakpoint
CREATE TRIGGER `usage_hours_of_changed_calls` AFTER UPDATE ON `calls` BEGIN
  UPDATE usage_hours SET
    calls = calls - 1,
    unpriced_calls = unpriced_calls - CASE WHEN OLD.status IN ('COMPLETED', 'FAILED') AND OLD.cost_nano_usd IS NULL THEN 1 ELSE 0 END,
    input_tokens = input_tokens - COALESCE(OLD.input_tokens, 0),
    cached_input_tokens = cached_input_tokens - COALESCE(OLD.cached_input_tokens, 0),
    output_tokens = output_tokens - COALESCE(OLD.response_tokens, 0),
    reasoning_tokens = reasoning_tokens - COALESCE(OLD.reasoning_tokens, 0),
    searches = searches - COALESCE(OLD.searches, 0),
    cost_nano_usd = cost_nano_usd - COALESCE(OLD.cost_nano_usd, 0)
  WHERE OLD.status <> 'IN_PROGRESS'
    AND organization_id = OLD.organization_id AND customer_id = OLD.customer_id
    AND hour_ms = COALESCE(OLD.finished_at_ms, OLD.started_at_ms) / 3600000 * 3600000 AND feature = COALESCE(OLD.feature, '')
    AND provider = CASE WHEN INSTR(COALESCE(OLD.model_key, ''), '/') > 0 THEN SUBSTR(OLD.model_key, 1, INSTR(OLD.model_key, '/') - 1) ELSE LOWER(COALESCE(OLD.provider_used, '')) END
    AND model = COALESCE(OLD.model_key, OLD.model_used, '') AND outcome = OLD.status;
  INSERT INTO usage_hours (organization_id, customer_id, hour_ms, feature, provider, model, outcome, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
  SELECT NEW.organization_id, NEW.customer_id, COALESCE(NEW.finished_at_ms, NEW.started_at_ms) / 3600000 * 3600000, COALESCE(NEW.feature, ''),
    CASE WHEN INSTR(COALESCE(NEW.model_key, ''), '/') > 0 THEN SUBSTR(NEW.model_key, 1, INSTR(NEW.model_key, '/') - 1) ELSE LOWER(COALESCE(NEW.provider_used, '')) END,
    COALESCE(NEW.model_key, NEW.model_used, ''), NEW.status, 1, CASE WHEN NEW.status IN ('COMPLETED', 'FAILED') AND NEW.cost_nano_usd IS NULL THEN 1 ELSE 0 END,
    COALESCE(NEW.input_tokens, 0), COALESCE(NEW.cached_input_tokens, 0), COALESCE(NEW.response_tokens, 0),
    COALESCE(NEW.reasoning_tokens, 0), COALESCE(NEW.searches, 0), COALESCE(NEW.cost_nano_usd, 0)
  WHERE NEW.status <> 'IN_PROGRESS'
  ON CONFLICT DO UPDATE SET
    calls = calls + 1,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    searches = searches + excluded.searches,
    cost_nano_usd = cost_nano_usd + excluded.cost_nano_usd;
END;
--> statement-breakpoint
-- Calls from before there were reports.
INSERT INTO usage_hours (organization_id, customer_id, hour_ms, feature, provider, model, outcome, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
SELECT organization_id, customer_id, COALESCE(calls.finished_at_ms, calls.started_at_ms) / 3600000 * 3600000, COALESCE(calls.feature, ''),
  CASE WHEN INSTR(COALESCE(calls.model_key, ''), '/') > 0 THEN SUBSTR(calls.model_key, 1, INSTR(calls.model_key, '/') - 1) ELSE LOWER(COALESCE(calls.provider_used, '')) END,
  COALESCE(calls.model_key, calls.model_used, ''), status, COUNT(*), SUM(CASE WHEN calls.status IN ('COMPLETED', 'FAILED') AND calls.cost_nano_usd IS NULL THEN 1 ELSE 0 END),
  SUM(COALESCE(input_tokens, 0)), SUM(COALESCE(cached_input_tokens, 0)), SUM(COALESCE(response_tokens, 0)),
  SUM(COALESCE(reasoning_tokens, 0)), SUM(COALESCE(searches, 0)), SUM(COALESCE(cost_nano_usd, 0))
FROM calls WHERE status <> 'IN_PROGRESS' GROUP BY 1, 2, 3, 4, 5, 6, 7;
