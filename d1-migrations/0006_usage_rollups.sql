CREATE TABLE `customer_days` (
	`organization_id` text NOT NULL,
	`customer_id` text NOT NULL,
	`day_ms` integer NOT NULL,
	`model` text NOT NULL,
	`calls` integer NOT NULL,
	`failed_calls` integer NOT NULL,
	`cost_nano_usd` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `customer_id`, `day_ms`, `model`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `customer_running_totals` (
	`organization_id` text NOT NULL,
	`customer_id` text NOT NULL,
	`hour_ms` integer NOT NULL,
	`calls` integer NOT NULL,
	`unpriced_calls` integer NOT NULL,
	`input_tokens` integer NOT NULL,
	`cached_input_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`reasoning_tokens` integer NOT NULL,
	`searches` integer NOT NULL,
	`cost_nano_usd` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `customer_id`, `hour_ms`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `customer_totals` (
	`organization_id` text NOT NULL,
	`customer_id` text NOT NULL,
	`last_hour_ms` integer NOT NULL,
	`calls` integer NOT NULL,
	`unpriced_calls` integer NOT NULL,
	`input_tokens` integer NOT NULL,
	`cached_input_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`reasoning_tokens` integer NOT NULL,
	`searches` integer NOT NULL,
	`cost_nano_usd` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `customer_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `organization_days` (
	`organization_id` text NOT NULL,
	`dimension` text NOT NULL,
	`day_ms` integer NOT NULL,
	`key` text NOT NULL,
	`calls` integer NOT NULL,
	`unpriced_calls` integer NOT NULL,
	`input_tokens` integer NOT NULL,
	`cached_input_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`reasoning_tokens` integer NOT NULL,
	`searches` integer NOT NULL,
	`cost_nano_usd` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `dimension`, `day_ms`, `key`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `organization_hours` (
	`organization_id` text NOT NULL,
	`dimension` text NOT NULL,
	`hour_ms` integer NOT NULL,
	`key` text NOT NULL,
	`calls` integer NOT NULL,
	`unpriced_calls` integer NOT NULL,
	`input_tokens` integer NOT NULL,
	`cached_input_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`reasoning_tokens` integer NOT NULL,
	`searches` integer NOT NULL,
	`cost_nano_usd` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `dimension`, `hour_ms`, `key`)
) WITHOUT ROWID;
--> statement-breakpoint
-- Usage from before there were roll-ups.
INSERT INTO organization_hours (organization_id, dimension, hour_ms, key, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
SELECT organization_id, 'feature', hour_ms, feature, SUM(calls), SUM(unpriced_calls), SUM(input_tokens), SUM(cached_input_tokens), SUM(output_tokens), SUM(reasoning_tokens), SUM(searches), SUM(cost_nano_usd)
FROM usage_hours WHERE true GROUP BY 1, 3, 4;
--> statement-breakpoint
INSERT INTO organization_hours (organization_id, dimension, hour_ms, key, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
SELECT organization_id, 'provider', hour_ms, provider, SUM(calls), SUM(unpriced_calls), SUM(input_tokens), SUM(cached_input_tokens), SUM(output_tokens), SUM(reasoning_tokens), SUM(searches), SUM(cost_nano_usd)
FROM usage_hours WHERE true GROUP BY 1, 3, 4;
--> statement-breakpoint
INSERT INTO organization_hours (organization_id, dimension, hour_ms, key, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
SELECT organization_id, 'model', hour_ms, model, SUM(calls), SUM(unpriced_calls), SUM(input_tokens), SUM(cached_input_tokens), SUM(output_tokens), SUM(reasoning_tokens), SUM(searches), SUM(cost_nano_usd)
FROM usage_hours WHERE true GROUP BY 1, 3, 4;
--> statement-breakpoint
INSERT INTO organization_hours (organization_id, dimension, hour_ms, key, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
SELECT organization_id, 'outcome', hour_ms, outcome, SUM(calls), SUM(unpriced_calls), SUM(input_tokens), SUM(cached_input_tokens), SUM(output_tokens), SUM(reasoning_tokens), SUM(searches), SUM(cost_nano_usd)
FROM usage_hours WHERE true GROUP BY 1, 3, 4;
--> statement-breakpoint
INSERT INTO organization_days (organization_id, dimension, day_ms, key, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
SELECT organization_id, dimension, hour_ms / 86400000 * 86400000, key, SUM(calls), SUM(unpriced_calls), SUM(input_tokens), SUM(cached_input_tokens), SUM(output_tokens), SUM(reasoning_tokens), SUM(searches), SUM(cost_nano_usd)
FROM organization_hours WHERE true GROUP BY 1, 2, 3, 4;
--> statement-breakpoint
INSERT INTO customer_totals (organization_id, customer_id, last_hour_ms, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
SELECT organization_id, customer_id, MAX(hour_ms), SUM(calls), SUM(unpriced_calls), SUM(input_tokens), SUM(cached_input_tokens), SUM(output_tokens), SUM(reasoning_tokens), SUM(searches), SUM(cost_nano_usd) FROM usage_hours GROUP BY 1, 2;
--> statement-breakpoint
INSERT INTO customer_running_totals (organization_id, customer_id, hour_ms, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
SELECT organization_id, customer_id, hour_ms, SUM(calls) OVER so_far, SUM(unpriced_calls) OVER so_far, SUM(input_tokens) OVER so_far, SUM(cached_input_tokens) OVER so_far, SUM(output_tokens) OVER so_far, SUM(reasoning_tokens) OVER so_far, SUM(searches) OVER so_far, SUM(cost_nano_usd) OVER so_far
FROM (SELECT organization_id, customer_id, hour_ms, SUM(calls) AS calls, SUM(unpriced_calls) AS unpriced_calls, SUM(input_tokens) AS input_tokens, SUM(cached_input_tokens) AS cached_input_tokens, SUM(output_tokens) AS output_tokens, SUM(reasoning_tokens) AS reasoning_tokens, SUM(searches) AS searches, SUM(cost_nano_usd) AS cost_nano_usd FROM usage_hours GROUP BY 1, 2, 3)
WINDOW so_far AS (PARTITION BY organization_id, customer_id ORDER BY hour_ms);
--> statement-breakpoint
INSERT INTO customer_days (organization_id, customer_id, day_ms, model, calls, failed_calls, cost_nano_usd)
SELECT organization_id, customer_id, hour_ms / 86400000 * 86400000, CASE WHEN cost_nano_usd > 0 THEN model ELSE '' END,
  SUM(calls), SUM(CASE WHEN outcome = 'FAILED' THEN calls ELSE 0 END), SUM(cost_nano_usd)
FROM usage_hours WHERE outcome IN ('COMPLETED', 'FAILED') GROUP BY 1, 2, 3, 4;
--> statement-breakpoint
-- From here on every row of usage_hours counts in the roll-ups as it comes, changes and goes.
CREATE TRIGGER `usage_rollups_of_new_hours` AFTER INSERT ON `usage_hours` BEGIN
  INSERT INTO organization_hours (organization_id, dimension, hour_ms, key, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
  SELECT NEW.organization_id, dimension, NEW.hour_ms, key, NEW.calls, NEW.unpriced_calls, NEW.input_tokens, NEW.cached_input_tokens, NEW.output_tokens, NEW.reasoning_tokens, NEW.searches, NEW.cost_nano_usd
  FROM (SELECT 'feature' AS dimension, NEW.feature AS key UNION ALL SELECT 'provider', NEW.provider UNION ALL SELECT 'model', NEW.model UNION ALL SELECT 'outcome', NEW.outcome) WHERE true
  ON CONFLICT DO UPDATE SET
    calls = calls + excluded.calls,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    searches = searches + excluded.searches,
    cost_nano_usd = cost_nano_usd + excluded.cost_nano_usd;
  INSERT INTO organization_days (organization_id, dimension, day_ms, key, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
  SELECT NEW.organization_id, dimension, NEW.hour_ms / 86400000 * 86400000, key, NEW.calls, NEW.unpriced_calls, NEW.input_tokens, NEW.cached_input_tokens, NEW.output_tokens, NEW.reasoning_tokens, NEW.searches, NEW.cost_nano_usd
  FROM (SELECT 'feature' AS dimension, NEW.feature AS key UNION ALL SELECT 'provider', NEW.provider UNION ALL SELECT 'model', NEW.model UNION ALL SELECT 'outcome', NEW.outcome) WHERE true
  ON CONFLICT DO UPDATE SET
    calls = calls + excluded.calls,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    searches = searches + excluded.searches,
    cost_nano_usd = cost_nano_usd + excluded.cost_nano_usd;
  INSERT INTO customer_totals (organization_id, customer_id, last_hour_ms, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
  VALUES (NEW.organization_id, NEW.customer_id, NEW.hour_ms, NEW.calls, NEW.unpriced_calls, NEW.input_tokens, NEW.cached_input_tokens, NEW.output_tokens, NEW.reasoning_tokens, NEW.searches, NEW.cost_nano_usd)
  ON CONFLICT DO UPDATE SET
    last_hour_ms = MAX(last_hour_ms, excluded.last_hour_ms),
    calls = calls + excluded.calls,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    searches = searches + excluded.searches,
    cost_nano_usd = cost_nano_usd + excluded.cost_nano_usd;
  -- An hour begins with what came before it, and what it adds stands in every later hour too.
  INSERT INTO customer_running_totals (organization_id, customer_id, hour_ms, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
  SELECT NEW.organization_id, NEW.customer_id, NEW.hour_ms, COALESCE(calls, 0), COALESCE(unpriced_calls, 0), COALESCE(input_tokens, 0), COALESCE(cached_input_tokens, 0), COALESCE(output_tokens, 0), COALESCE(reasoning_tokens, 0), COALESCE(searches, 0), COALESCE(cost_nano_usd, 0)
  FROM (SELECT 1) LEFT JOIN (SELECT * FROM customer_running_totals WHERE organization_id = NEW.organization_id AND customer_id = NEW.customer_id AND hour_ms <= NEW.hour_ms ORDER BY hour_ms DESC LIMIT 1) ON true
  WHERE true
  ON CONFLICT DO NOTHING;
  UPDATE customer_running_totals SET
    calls = calls + NEW.calls,
    unpriced_calls = unpriced_calls + NEW.unpriced_calls,
    input_tokens = input_tokens + NEW.input_tokens,
    cached_input_tokens = cached_input_tokens + NEW.cached_input_tokens,
    output_tokens = output_tokens + NEW.output_tokens,
    reasoning_tokens = reasoning_tokens + NEW.reasoning_tokens,
    searches = searches + NEW.searches,
    cost_nano_usd = cost_nano_usd + NEW.cost_nano_usd
  WHERE organization_id = NEW.organization_id AND customer_id = NEW.customer_id AND hour_ms >= NEW.hour_ms;
  INSERT INTO customer_days (organization_id, customer_id, day_ms, model, calls, failed_calls, cost_nano_usd)
  SELECT NEW.organization_id, NEW.customer_id, NEW.hour_ms / 86400000 * 86400000, CASE WHEN NEW.cost_nano_usd > 0 THEN NEW.model ELSE '' END,
    NEW.calls, CASE WHEN NEW.outcome = 'FAILED' THEN NEW.calls ELSE 0 END, NEW.cost_nano_usd
  WHERE NEW.outcome IN ('COMPLETED', 'FAILED')
  ON CONFLICT DO UPDATE SET
    calls = calls + excluded.calls,
    failed_calls = failed_calls + excluded.failed_calls,
    cost_nano_usd = cost_nano_usd + excluded.cost_nano_usd;
END;
--> statement-breakpoint
CREATE TRIGGER `usage_rollups_of_changed_hours` AFTER UPDATE ON `usage_hours` BEGIN
  INSERT INTO organization_hours (organization_id, dimension, hour_ms, key, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
  SELECT NEW.organization_id, dimension, NEW.hour_ms, key, NEW.calls - OLD.calls, NEW.unpriced_calls - OLD.unpriced_calls, NEW.input_tokens - OLD.input_tokens, NEW.cached_input_tokens - OLD.cached_input_tokens, NEW.output_tokens - OLD.output_tokens, NEW.reasoning_tokens - OLD.reasoning_tokens, NEW.searches - OLD.searches, NEW.cost_nano_usd - OLD.cost_nano_usd
  FROM (SELECT 'feature' AS dimension, NEW.feature AS key UNION ALL SELECT 'provider', NEW.provider UNION ALL SELECT 'model', NEW.model UNION ALL SELECT 'outcome', NEW.outcome) WHERE true
  ON CONFLICT DO UPDATE SET
    calls = calls + excluded.calls,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    searches = searches + excluded.searches,
    cost_nano_usd = cost_nano_usd + excluded.cost_nano_usd;
  INSERT INTO organization_days (organization_id, dimension, day_ms, key, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
  SELECT NEW.organization_id, dimension, NEW.hour_ms / 86400000 * 86400000, key, NEW.calls - OLD.calls, NEW.unpriced_calls - OLD.unpriced_calls, NEW.input_tokens - OLD.input_tokens, NEW.cached_input_tokens - OLD.cached_input_tokens, NEW.output_tokens - OLD.output_tokens, NEW.reasoning_tokens - OLD.reasoning_tokens, NEW.searches - OLD.searches, NEW.cost_nano_usd - OLD.cost_nano_usd
  FROM (SELECT 'feature' AS dimension, NEW.feature AS key UNION ALL SELECT 'provider', NEW.provider UNION ALL SELECT 'model', NEW.model UNION ALL SELECT 'outcome', NEW.outcome) WHERE true
  ON CONFLICT DO UPDATE SET
    calls = calls + excluded.calls,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    searches = searches + excluded.searches,
    cost_nano_usd = cost_nano_usd + excluded.cost_nano_usd;
  INSERT INTO customer_totals (organization_id, customer_id, last_hour_ms, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
  VALUES (NEW.organization_id, NEW.customer_id, NEW.hour_ms, NEW.calls - OLD.calls, NEW.unpriced_calls - OLD.unpriced_calls, NEW.input_tokens - OLD.input_tokens, NEW.cached_input_tokens - OLD.cached_input_tokens, NEW.output_tokens - OLD.output_tokens, NEW.reasoning_tokens - OLD.reasoning_tokens, NEW.searches - OLD.searches, NEW.cost_nano_usd - OLD.cost_nano_usd)
  ON CONFLICT DO UPDATE SET
    last_hour_ms = MAX(last_hour_ms, excluded.last_hour_ms),
    calls = calls + excluded.calls,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    searches = searches + excluded.searches,
    cost_nano_usd = cost_nano_usd + excluded.cost_nano_usd;
  UPDATE customer_running_totals SET
    calls = calls + NEW.calls - OLD.calls,
    unpriced_calls = unpriced_calls + NEW.unpriced_calls - OLD.unpriced_calls,
    input_tokens = input_tokens + NEW.input_tokens - OLD.input_tokens,
    cached_input_tokens = cached_input_tokens + NEW.cached_input_tokens - OLD.cached_input_tokens,
    output_tokens = output_tokens + NEW.output_tokens - OLD.output_tokens,
    reasoning_tokens = reasoning_tokens + NEW.reasoning_tokens - OLD.reasoning_tokens,
    searches = searches + NEW.searches - OLD.searches,
    cost_nano_usd = cost_nano_usd + NEW.cost_nano_usd - OLD.cost_nano_usd
  WHERE organization_id = NEW.organization_id AND customer_id = NEW.customer_id AND hour_ms >= NEW.hour_ms;
  INSERT INTO customer_days (organization_id, customer_id, day_ms, model, calls, failed_calls, cost_nano_usd)
  SELECT OLD.organization_id, OLD.customer_id, OLD.hour_ms / 86400000 * 86400000, CASE WHEN OLD.cost_nano_usd > 0 THEN OLD.model ELSE '' END,
    -OLD.calls, CASE WHEN OLD.outcome = 'FAILED' THEN -OLD.calls ELSE 0 END, -OLD.cost_nano_usd
  WHERE OLD.outcome IN ('COMPLETED', 'FAILED')
  ON CONFLICT DO UPDATE SET
    calls = calls + excluded.calls,
    failed_calls = failed_calls + excluded.failed_calls,
    cost_nano_usd = cost_nano_usd + excluded.cost_nano_usd;
  INSERT INTO customer_days (organization_id, customer_id, day_ms, model, calls, failed_calls, cost_nano_usd)
  SELECT NEW.organization_id, NEW.customer_id, NEW.hour_ms / 86400000 * 86400000, CASE WHEN NEW.cost_nano_usd > 0 THEN NEW.model ELSE '' END,
    NEW.calls, CASE WHEN NEW.outcome = 'FAILED' THEN NEW.calls ELSE 0 END, NEW.cost_nano_usd
  WHERE NEW.outcome IN ('COMPLETED', 'FAILED')
  ON CONFLICT DO UPDATE SET
    calls = calls + excluded.calls,
    failed_calls = failed_calls + excluded.failed_calls,
    cost_nano_usd = cost_nano_usd + excluded.cost_nano_usd;
END;
--> statement-breakpoint
-- Hours go with their customer alone, whose own rows the erasure removes.
CREATE TRIGGER `usage_rollups_of_gone_hours` AFTER DELETE ON `usage_hours` BEGIN
  INSERT INTO organization_hours (organization_id, dimension, hour_ms, key, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
  SELECT OLD.organization_id, dimension, OLD.hour_ms, key, -OLD.calls, -OLD.unpriced_calls, -OLD.input_tokens, -OLD.cached_input_tokens, -OLD.output_tokens, -OLD.reasoning_tokens, -OLD.searches, -OLD.cost_nano_usd
  FROM (SELECT 'feature' AS dimension, OLD.feature AS key UNION ALL SELECT 'provider', OLD.provider UNION ALL SELECT 'model', OLD.model UNION ALL SELECT 'outcome', OLD.outcome) WHERE true
  ON CONFLICT DO UPDATE SET
    calls = calls + excluded.calls,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    searches = searches + excluded.searches,
    cost_nano_usd = cost_nano_usd + excluded.cost_nano_usd;
  INSERT INTO organization_days (organization_id, dimension, day_ms, key, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
  SELECT OLD.organization_id, dimension, OLD.hour_ms / 86400000 * 86400000, key, -OLD.calls, -OLD.unpriced_calls, -OLD.input_tokens, -OLD.cached_input_tokens, -OLD.output_tokens, -OLD.reasoning_tokens, -OLD.searches, -OLD.cost_nano_usd
  FROM (SELECT 'feature' AS dimension, OLD.feature AS key UNION ALL SELECT 'provider', OLD.provider UNION ALL SELECT 'model', OLD.model UNION ALL SELECT 'outcome', OLD.outcome) WHERE true
  ON CONFLICT DO UPDATE SET
    calls = calls + excluded.calls,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    searches = searches + excluded.searches,
    cost_nano_usd = cost_nano_usd + excluded.cost_nano_usd;
  DELETE FROM organization_hours
  WHERE organization_id = OLD.organization_id AND dimension IN ('feature', 'provider', 'model', 'outcome') AND hour_ms = OLD.hour_ms
    AND key IN (OLD.feature, OLD.provider, OLD.model, OLD.outcome) AND calls = 0;
  DELETE FROM organization_days
  WHERE organization_id = OLD.organization_id AND dimension IN ('feature', 'provider', 'model', 'outcome') AND day_ms = OLD.hour_ms / 86400000 * 86400000
    AND key IN (OLD.feature, OLD.provider, OLD.model, OLD.outcome) AND calls = 0;
END;
--> statement-breakpoint
-- As it was, but for calls of which nothing changes that is counted: a settled charge need not move them out and in again.
DROP TRIGGER `usage_hours_of_changed_calls`;
--> statement-breakpoint
CREATE TRIGGER `usage_hours_of_changed_calls` AFTER UPDATE ON `calls`
WHEN (NEW.customer_id, NEW.feature, NEW.status, NEW.started_at_ms, NEW.finished_at_ms, NEW.provider_used,
  NEW.model_used, NEW.model_key, NEW.input_tokens, NEW.cached_input_tokens, NEW.response_tokens, NEW.reasoning_tokens, NEW.searches, NEW.cost_nano_usd)
  IS NOT (OLD.customer_id, OLD.feature, OLD.status, OLD.started_at_ms, OLD.finished_at_ms, OLD.provider_used,
  OLD.model_used, OLD.model_key, OLD.input_tokens, OLD.cached_input_tokens, OLD.response_tokens, OLD.reasoning_tokens, OLD.searches, OLD.cost_nano_usd)
BEGIN
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
