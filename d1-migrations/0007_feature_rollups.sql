CREATE TABLE `feature_customer_totals` (
	`organization_id` text NOT NULL,
	`feature` text NOT NULL,
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
	PRIMARY KEY(`organization_id`, `feature`, `customer_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `feature_running_totals` (
	`organization_id` text NOT NULL,
	`customer_id` text NOT NULL,
	`feature` text NOT NULL,
	`hour_ms` integer NOT NULL,
	`calls` integer NOT NULL,
	`unpriced_calls` integer NOT NULL,
	`input_tokens` integer NOT NULL,
	`cached_input_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`reasoning_tokens` integer NOT NULL,
	`searches` integer NOT NULL,
	`cost_nano_usd` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `customer_id`, `feature`, `hour_ms`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `feature_usage` (
	`organization_id` text NOT NULL,
	`feature` text NOT NULL,
	`unit` text NOT NULL,
	`start_ms` integer NOT NULL,
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
	PRIMARY KEY(`organization_id`, `feature`, `unit`, `start_ms`, `provider`, `model`, `outcome`)
) WITHOUT ROWID;
--> statement-breakpoint
-- Usage from before there were these roll-ups.
INSERT INTO feature_usage (organization_id, feature, unit, start_ms, provider, model, outcome, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
SELECT organization_id, feature, 'hour', hour_ms, provider, model, outcome, SUM(calls), SUM(unpriced_calls), SUM(input_tokens), SUM(cached_input_tokens), SUM(output_tokens), SUM(reasoning_tokens), SUM(searches), SUM(cost_nano_usd)
FROM usage_hours WHERE true GROUP BY 1, 2, 4, 5, 6, 7;
--> statement-breakpoint
INSERT INTO feature_usage (organization_id, feature, unit, start_ms, provider, model, outcome, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
SELECT organization_id, feature, 'day', start_ms / 86400000 * 86400000, provider, model, outcome, SUM(calls), SUM(unpriced_calls), SUM(input_tokens), SUM(cached_input_tokens), SUM(output_tokens), SUM(reasoning_tokens), SUM(searches), SUM(cost_nano_usd)
FROM feature_usage WHERE unit = 'hour' GROUP BY 1, 2, 4, 5, 6, 7;
--> statement-breakpoint
INSERT INTO feature_running_totals (organization_id, customer_id, feature, hour_ms, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
SELECT organization_id, customer_id, feature, hour_ms, SUM(calls) OVER so_far, SUM(unpriced_calls) OVER so_far, SUM(input_tokens) OVER so_far, SUM(cached_input_tokens) OVER so_far, SUM(output_tokens) OVER so_far, SUM(reasoning_tokens) OVER so_far, SUM(searches) OVER so_far, SUM(cost_nano_usd) OVER so_far
FROM (SELECT organization_id, customer_id, feature, hour_ms, SUM(calls) AS calls, SUM(unpriced_calls) AS unpriced_calls, SUM(input_tokens) AS input_tokens, SUM(cached_input_tokens) AS cached_input_tokens, SUM(output_tokens) AS output_tokens, SUM(reasoning_tokens) AS reasoning_tokens, SUM(searches) AS searches, SUM(cost_nano_usd) AS cost_nano_usd FROM usage_hours GROUP BY 1, 2, 3, 4)
WINDOW so_far AS (PARTITION BY organization_id, customer_id, feature ORDER BY hour_ms);
--> statement-breakpoint
-- The last of the running totals, which SQLite takes the other columns from where there is a MAX.
INSERT INTO feature_customer_totals (organization_id, feature, customer_id, last_hour_ms, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
SELECT organization_id, feature, customer_id, MAX(hour_ms), calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd FROM feature_running_totals WHERE true GROUP BY organization_id, customer_id, feature;
--> statement-breakpoint
-- From here on every row of usage_hours counts within its feature as it comes, changes and goes; no row changes its feature.
CREATE TRIGGER `feature_rollups_of_new_hours` AFTER INSERT ON `usage_hours` BEGIN
  INSERT INTO feature_usage (organization_id, feature, unit, start_ms, provider, model, outcome, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
  SELECT NEW.organization_id, NEW.feature, unit, NEW.hour_ms / unit_ms * unit_ms, NEW.provider, NEW.model, NEW.outcome, NEW.calls, NEW.unpriced_calls, NEW.input_tokens, NEW.cached_input_tokens, NEW.output_tokens, NEW.reasoning_tokens, NEW.searches, NEW.cost_nano_usd
  FROM (SELECT 'hour' AS unit, 3600000 AS unit_ms UNION ALL SELECT 'day', 86400000) WHERE true
  ON CONFLICT DO UPDATE SET
    calls = calls + excluded.calls,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    searches = searches + excluded.searches,
    cost_nano_usd = cost_nano_usd + excluded.cost_nano_usd;
  INSERT INTO feature_customer_totals (organization_id, feature, customer_id, last_hour_ms, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
  VALUES (NEW.organization_id, NEW.feature, NEW.customer_id, NEW.hour_ms, NEW.calls, NEW.unpriced_calls, NEW.input_tokens, NEW.cached_input_tokens, NEW.output_tokens, NEW.reasoning_tokens, NEW.searches, NEW.cost_nano_usd)
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
  -- An hour holds what came before it, or itself so far, and what is new; which stands in every later hour too.
  INSERT INTO feature_running_totals (organization_id, customer_id, feature, hour_ms, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
  SELECT NEW.organization_id, NEW.customer_id, NEW.feature, NEW.hour_ms, COALESCE(calls, 0) + NEW.calls, COALESCE(unpriced_calls, 0) + NEW.unpriced_calls, COALESCE(input_tokens, 0) + NEW.input_tokens, COALESCE(cached_input_tokens, 0) + NEW.cached_input_tokens, COALESCE(output_tokens, 0) + NEW.output_tokens, COALESCE(reasoning_tokens, 0) + NEW.reasoning_tokens, COALESCE(searches, 0) + NEW.searches, COALESCE(cost_nano_usd, 0) + NEW.cost_nano_usd
  FROM (SELECT 1) LEFT JOIN (SELECT * FROM feature_running_totals WHERE organization_id = NEW.organization_id AND customer_id = NEW.customer_id AND feature = NEW.feature AND hour_ms <= NEW.hour_ms ORDER BY hour_ms DESC LIMIT 1) ON true
  WHERE true
  ON CONFLICT DO UPDATE SET
    calls = excluded.calls,
    unpriced_calls = excluded.unpriced_calls,
    input_tokens = excluded.input_tokens,
    cached_input_tokens = excluded.cached_input_tokens,
    output_tokens = excluded.output_tokens,
    reasoning_tokens = excluded.reasoning_tokens,
    searches = excluded.searches,
    cost_nano_usd = excluded.cost_nano_usd;
  UPDATE feature_running_totals SET
    calls = calls + NEW.calls,
    unpriced_calls = unpriced_calls + NEW.unpriced_calls,
    input_tokens = input_tokens + NEW.input_tokens,
    cached_input_tokens = cached_input_tokens + NEW.cached_input_tokens,
    output_tokens = output_tokens + NEW.output_tokens,
    reasoning_tokens = reasoning_tokens + NEW.reasoning_tokens,
    searches = searches + NEW.searches,
    cost_nano_usd = cost_nano_usd + NEW.cost_nano_usd
  WHERE organization_id = NEW.organization_id AND customer_id = NEW.customer_id AND feature = NEW.feature AND hour_ms > NEW.hour_ms;
END;
--> statement-breakpoint
CREATE TRIGGER `feature_rollups_of_changed_hours` AFTER UPDATE ON `usage_hours` BEGIN
  INSERT INTO feature_usage (organization_id, feature, unit, start_ms, provider, model, outcome, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
  SELECT NEW.organization_id, NEW.feature, unit, NEW.hour_ms / unit_ms * unit_ms, NEW.provider, NEW.model, NEW.outcome, NEW.calls - OLD.calls, NEW.unpriced_calls - OLD.unpriced_calls, NEW.input_tokens - OLD.input_tokens, NEW.cached_input_tokens - OLD.cached_input_tokens, NEW.output_tokens - OLD.output_tokens, NEW.reasoning_tokens - OLD.reasoning_tokens, NEW.searches - OLD.searches, NEW.cost_nano_usd - OLD.cost_nano_usd
  FROM (SELECT 'hour' AS unit, 3600000 AS unit_ms UNION ALL SELECT 'day', 86400000) WHERE true
  ON CONFLICT DO UPDATE SET
    calls = calls + excluded.calls,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    searches = searches + excluded.searches,
    cost_nano_usd = cost_nano_usd + excluded.cost_nano_usd;
  INSERT INTO feature_customer_totals (organization_id, feature, customer_id, last_hour_ms, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
  VALUES (NEW.organization_id, NEW.feature, NEW.customer_id, NEW.hour_ms, NEW.calls - OLD.calls, NEW.unpriced_calls - OLD.unpriced_calls, NEW.input_tokens - OLD.input_tokens, NEW.cached_input_tokens - OLD.cached_input_tokens, NEW.output_tokens - OLD.output_tokens, NEW.reasoning_tokens - OLD.reasoning_tokens, NEW.searches - OLD.searches, NEW.cost_nano_usd - OLD.cost_nano_usd)
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
  UPDATE feature_running_totals SET
    calls = calls + NEW.calls - OLD.calls,
    unpriced_calls = unpriced_calls + NEW.unpriced_calls - OLD.unpriced_calls,
    input_tokens = input_tokens + NEW.input_tokens - OLD.input_tokens,
    cached_input_tokens = cached_input_tokens + NEW.cached_input_tokens - OLD.cached_input_tokens,
    output_tokens = output_tokens + NEW.output_tokens - OLD.output_tokens,
    reasoning_tokens = reasoning_tokens + NEW.reasoning_tokens - OLD.reasoning_tokens,
    searches = searches + NEW.searches - OLD.searches,
    cost_nano_usd = cost_nano_usd + NEW.cost_nano_usd - OLD.cost_nano_usd
  WHERE organization_id = NEW.organization_id AND customer_id = NEW.customer_id AND feature = NEW.feature AND hour_ms >= NEW.hour_ms;
END;
--> statement-breakpoint
-- Hours go with their customer alone, whose own rows the erasure removes.
CREATE TRIGGER `feature_rollups_of_gone_hours` AFTER DELETE ON `usage_hours` BEGIN
  INSERT INTO feature_usage (organization_id, feature, unit, start_ms, provider, model, outcome, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
  SELECT OLD.organization_id, OLD.feature, unit, OLD.hour_ms / unit_ms * unit_ms, OLD.provider, OLD.model, OLD.outcome, -OLD.calls, -OLD.unpriced_calls, -OLD.input_tokens, -OLD.cached_input_tokens, -OLD.output_tokens, -OLD.reasoning_tokens, -OLD.searches, -OLD.cost_nano_usd
  FROM (SELECT 'hour' AS unit, 3600000 AS unit_ms UNION ALL SELECT 'day', 86400000) WHERE true
  ON CONFLICT DO UPDATE SET
    calls = calls + excluded.calls,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    searches = searches + excluded.searches,
    cost_nano_usd = cost_nano_usd + excluded.cost_nano_usd;
  DELETE FROM feature_usage
  WHERE organization_id = OLD.organization_id AND feature = OLD.feature AND unit IN ('hour', 'day') AND start_ms IN (OLD.hour_ms, OLD.hour_ms / 86400000 * 86400000)
    AND provider = OLD.provider AND model = OLD.model AND outcome = OLD.outcome AND calls = 0;
END;
