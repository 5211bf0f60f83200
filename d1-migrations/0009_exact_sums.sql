-- What sums of cost hold: whole dollars, and what remains in nano-USD. A single 64-bit sum of nano-USD ends at 9.2 billion
-- dollars. The columns have new names, so that a version before this one, which would add up only one of them, fails and what
-- it brings waits for the next version.
DROP TRIGGER `usage_rollups_of_new_hours`;
--> statement-breakpoint
DROP TRIGGER `usage_rollups_of_changed_hours`;
--> statement-breakpoint
DROP TRIGGER `usage_rollups_of_gone_hours`;
--> statement-breakpoint
DROP TRIGGER `feature_rollups_of_new_hours`;
--> statement-breakpoint
DROP TRIGGER `feature_rollups_of_changed_hours`;
--> statement-breakpoint
DROP TRIGGER `feature_rollups_of_gone_hours`;
--> statement-breakpoint
DROP TRIGGER `usage_changes_of_new_calls`;
--> statement-breakpoint
DROP TRIGGER `usage_changes_of_changed_calls`;
--> statement-breakpoint
ALTER TABLE `usage_changes` RENAME COLUMN `cost_nano_usd` TO `cost_rest_nano_usd`;
--> statement-breakpoint
ALTER TABLE `usage_changes` ADD `cost_usd` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE `usage_hours` RENAME COLUMN `cost_nano_usd` TO `cost_rest_nano_usd`;
--> statement-breakpoint
ALTER TABLE `usage_hours` ADD `cost_usd` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE `organization_hours` RENAME COLUMN `cost_nano_usd` TO `cost_rest_nano_usd`;
--> statement-breakpoint
ALTER TABLE `organization_hours` ADD `cost_usd` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE `organization_days` RENAME COLUMN `cost_nano_usd` TO `cost_rest_nano_usd`;
--> statement-breakpoint
ALTER TABLE `organization_days` ADD `cost_usd` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE `customer_totals` RENAME COLUMN `cost_nano_usd` TO `cost_rest_nano_usd`;
--> statement-breakpoint
ALTER TABLE `customer_totals` ADD `cost_usd` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE `customer_running_totals` RENAME COLUMN `cost_nano_usd` TO `cost_rest_nano_usd`;
--> statement-breakpoint
ALTER TABLE `customer_running_totals` ADD `cost_usd` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE `customer_days` RENAME COLUMN `cost_nano_usd` TO `cost_rest_nano_usd`;
--> statement-breakpoint
ALTER TABLE `customer_days` ADD `cost_usd` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE `feature_usage` RENAME COLUMN `cost_nano_usd` TO `cost_rest_nano_usd`;
--> statement-breakpoint
ALTER TABLE `feature_usage` ADD `cost_usd` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE `feature_customer_totals` RENAME COLUMN `cost_nano_usd` TO `cost_rest_nano_usd`;
--> statement-breakpoint
ALTER TABLE `feature_customer_totals` ADD `cost_usd` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE `feature_running_totals` RENAME COLUMN `cost_nano_usd` TO `cost_rest_nano_usd`;
--> statement-breakpoint
ALTER TABLE `feature_running_totals` ADD `cost_usd` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
-- A sum that had left 64 bits is a floating-point number: its dollars stand, the rest of it was never exact.
UPDATE usage_changes SET
  cost_usd = CAST(cost_rest_nano_usd / 1000000000 AS INTEGER),
  cost_rest_nano_usd = CASE typeof(cost_rest_nano_usd) WHEN 'integer' THEN cost_rest_nano_usd % 1000000000 ELSE 0 END
WHERE cost_rest_nano_usd NOT BETWEEN -999999999 AND 999999999;
--> statement-breakpoint
UPDATE usage_hours SET
  cost_usd = CAST(cost_rest_nano_usd / 1000000000 AS INTEGER),
  cost_rest_nano_usd = CASE typeof(cost_rest_nano_usd) WHEN 'integer' THEN cost_rest_nano_usd % 1000000000 ELSE 0 END
WHERE cost_rest_nano_usd NOT BETWEEN -999999999 AND 999999999;
--> statement-breakpoint
UPDATE organization_hours SET
  cost_usd = CAST(cost_rest_nano_usd / 1000000000 AS INTEGER),
  cost_rest_nano_usd = CASE typeof(cost_rest_nano_usd) WHEN 'integer' THEN cost_rest_nano_usd % 1000000000 ELSE 0 END
WHERE cost_rest_nano_usd NOT BETWEEN -999999999 AND 999999999;
--> statement-breakpoint
UPDATE organization_days SET
  cost_usd = CAST(cost_rest_nano_usd / 1000000000 AS INTEGER),
  cost_rest_nano_usd = CASE typeof(cost_rest_nano_usd) WHEN 'integer' THEN cost_rest_nano_usd % 1000000000 ELSE 0 END
WHERE cost_rest_nano_usd NOT BETWEEN -999999999 AND 999999999;
--> statement-breakpoint
UPDATE customer_totals SET
  cost_usd = CAST(cost_rest_nano_usd / 1000000000 AS INTEGER),
  cost_rest_nano_usd = CASE typeof(cost_rest_nano_usd) WHEN 'integer' THEN cost_rest_nano_usd % 1000000000 ELSE 0 END
WHERE cost_rest_nano_usd NOT BETWEEN -999999999 AND 999999999;
--> statement-breakpoint
UPDATE customer_running_totals SET
  cost_usd = CAST(cost_rest_nano_usd / 1000000000 AS INTEGER),
  cost_rest_nano_usd = CASE typeof(cost_rest_nano_usd) WHEN 'integer' THEN cost_rest_nano_usd % 1000000000 ELSE 0 END
WHERE cost_rest_nano_usd NOT BETWEEN -999999999 AND 999999999;
--> statement-breakpoint
UPDATE customer_days SET
  cost_usd = CAST(cost_rest_nano_usd / 1000000000 AS INTEGER),
  cost_rest_nano_usd = CASE typeof(cost_rest_nano_usd) WHEN 'integer' THEN cost_rest_nano_usd % 1000000000 ELSE 0 END
WHERE cost_rest_nano_usd NOT BETWEEN -999999999 AND 999999999;
--> statement-breakpoint
UPDATE feature_usage SET
  cost_usd = CAST(cost_rest_nano_usd / 1000000000 AS INTEGER),
  cost_rest_nano_usd = CASE typeof(cost_rest_nano_usd) WHEN 'integer' THEN cost_rest_nano_usd % 1000000000 ELSE 0 END
WHERE cost_rest_nano_usd NOT BETWEEN -999999999 AND 999999999;
--> statement-breakpoint
UPDATE feature_customer_totals SET
  cost_usd = CAST(cost_rest_nano_usd / 1000000000 AS INTEGER),
  cost_rest_nano_usd = CASE typeof(cost_rest_nano_usd) WHEN 'integer' THEN cost_rest_nano_usd % 1000000000 ELSE 0 END
WHERE cost_rest_nano_usd NOT BETWEEN -999999999 AND 999999999;
--> statement-breakpoint
UPDATE feature_running_totals SET
  cost_usd = CAST(cost_rest_nano_usd / 1000000000 AS INTEGER),
  cost_rest_nano_usd = CASE typeof(cost_rest_nano_usd) WHEN 'integer' THEN cost_rest_nano_usd % 1000000000 ELSE 0 END
WHERE cost_rest_nano_usd NOT BETWEEN -999999999 AND 999999999;
--> statement-breakpoint
-- The triggers as they were, with both columns.
CREATE TRIGGER `usage_rollups_of_new_hours` AFTER INSERT ON `usage_hours` BEGIN
  INSERT INTO organization_hours (organization_id, dimension, hour_ms, key, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_usd, cost_rest_nano_usd)
  SELECT NEW.organization_id, dimension, NEW.hour_ms, key, NEW.calls, NEW.unpriced_calls, NEW.input_tokens, NEW.cached_input_tokens, NEW.output_tokens, NEW.reasoning_tokens, NEW.searches, NEW.cost_usd, NEW.cost_rest_nano_usd
  FROM (SELECT 'feature' AS dimension, NEW.feature AS key UNION ALL SELECT 'provider', NEW.provider UNION ALL SELECT 'model', NEW.model UNION ALL SELECT 'outcome', NEW.outcome) WHERE true
  ON CONFLICT DO UPDATE SET
    calls = calls + excluded.calls,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    searches = searches + excluded.searches,
    cost_usd = cost_usd + excluded.cost_usd,
    cost_rest_nano_usd = cost_rest_nano_usd + excluded.cost_rest_nano_usd;
  INSERT INTO organization_days (organization_id, dimension, day_ms, key, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_usd, cost_rest_nano_usd)
  SELECT NEW.organization_id, dimension, NEW.hour_ms / 86400000 * 86400000, key, NEW.calls, NEW.unpriced_calls, NEW.input_tokens, NEW.cached_input_tokens, NEW.output_tokens, NEW.reasoning_tokens, NEW.searches, NEW.cost_usd, NEW.cost_rest_nano_usd
  FROM (SELECT 'feature' AS dimension, NEW.feature AS key UNION ALL SELECT 'provider', NEW.provider UNION ALL SELECT 'model', NEW.model UNION ALL SELECT 'outcome', NEW.outcome) WHERE true
  ON CONFLICT DO UPDATE SET
    calls = calls + excluded.calls,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    searches = searches + excluded.searches,
    cost_usd = cost_usd + excluded.cost_usd,
    cost_rest_nano_usd = cost_rest_nano_usd + excluded.cost_rest_nano_usd;
  INSERT INTO customer_totals (organization_id, customer_id, last_hour_ms, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_usd, cost_rest_nano_usd)
  VALUES (NEW.organization_id, NEW.customer_id, NEW.hour_ms, NEW.calls, NEW.unpriced_calls, NEW.input_tokens, NEW.cached_input_tokens, NEW.output_tokens, NEW.reasoning_tokens, NEW.searches, NEW.cost_usd, NEW.cost_rest_nano_usd)
  ON CONFLICT DO UPDATE SET
    last_hour_ms = MAX(last_hour_ms, excluded.last_hour_ms),
    calls = calls + excluded.calls,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    searches = searches + excluded.searches,
    cost_usd = cost_usd + excluded.cost_usd,
    cost_rest_nano_usd = cost_rest_nano_usd + excluded.cost_rest_nano_usd;
  -- An hour begins with what came before it, and what it adds stands in every later hour too.
  INSERT INTO customer_running_totals (organization_id, customer_id, hour_ms, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_usd, cost_rest_nano_usd)
  SELECT NEW.organization_id, NEW.customer_id, NEW.hour_ms, COALESCE(calls, 0), COALESCE(unpriced_calls, 0), COALESCE(input_tokens, 0), COALESCE(cached_input_tokens, 0), COALESCE(output_tokens, 0), COALESCE(reasoning_tokens, 0), COALESCE(searches, 0), COALESCE(cost_usd, 0), COALESCE(cost_rest_nano_usd, 0)
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
    cost_usd = cost_usd + NEW.cost_usd,
    cost_rest_nano_usd = cost_rest_nano_usd + NEW.cost_rest_nano_usd
  WHERE organization_id = NEW.organization_id AND customer_id = NEW.customer_id AND hour_ms >= NEW.hour_ms;
  INSERT INTO customer_days (organization_id, customer_id, day_ms, model, calls, failed_calls, cost_usd, cost_rest_nano_usd)
  SELECT NEW.organization_id, NEW.customer_id, NEW.hour_ms / 86400000 * 86400000, CASE WHEN NEW.cost_usd * 1000000000 + NEW.cost_rest_nano_usd > 0 THEN NEW.model ELSE '' END,
    NEW.calls, CASE WHEN NEW.outcome = 'FAILED' THEN NEW.calls ELSE 0 END, NEW.cost_usd, NEW.cost_rest_nano_usd
  WHERE NEW.outcome IN ('COMPLETED', 'FAILED')
  ON CONFLICT DO UPDATE SET
    calls = calls + excluded.calls,
    failed_calls = failed_calls + excluded.failed_calls,
    cost_usd = cost_usd + excluded.cost_usd,
    cost_rest_nano_usd = cost_rest_nano_usd + excluded.cost_rest_nano_usd;
END;
--> statement-breakpoint
CREATE TRIGGER `usage_rollups_of_changed_hours` AFTER UPDATE ON `usage_hours` BEGIN
  INSERT INTO organization_hours (organization_id, dimension, hour_ms, key, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_usd, cost_rest_nano_usd)
  SELECT NEW.organization_id, dimension, NEW.hour_ms, key, NEW.calls - OLD.calls, NEW.unpriced_calls - OLD.unpriced_calls, NEW.input_tokens - OLD.input_tokens, NEW.cached_input_tokens - OLD.cached_input_tokens, NEW.output_tokens - OLD.output_tokens, NEW.reasoning_tokens - OLD.reasoning_tokens, NEW.searches - OLD.searches, NEW.cost_usd - OLD.cost_usd, NEW.cost_rest_nano_usd - OLD.cost_rest_nano_usd
  FROM (SELECT 'feature' AS dimension, NEW.feature AS key UNION ALL SELECT 'provider', NEW.provider UNION ALL SELECT 'model', NEW.model UNION ALL SELECT 'outcome', NEW.outcome) WHERE true
  ON CONFLICT DO UPDATE SET
    calls = calls + excluded.calls,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    searches = searches + excluded.searches,
    cost_usd = cost_usd + excluded.cost_usd,
    cost_rest_nano_usd = cost_rest_nano_usd + excluded.cost_rest_nano_usd;
  INSERT INTO organization_days (organization_id, dimension, day_ms, key, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_usd, cost_rest_nano_usd)
  SELECT NEW.organization_id, dimension, NEW.hour_ms / 86400000 * 86400000, key, NEW.calls - OLD.calls, NEW.unpriced_calls - OLD.unpriced_calls, NEW.input_tokens - OLD.input_tokens, NEW.cached_input_tokens - OLD.cached_input_tokens, NEW.output_tokens - OLD.output_tokens, NEW.reasoning_tokens - OLD.reasoning_tokens, NEW.searches - OLD.searches, NEW.cost_usd - OLD.cost_usd, NEW.cost_rest_nano_usd - OLD.cost_rest_nano_usd
  FROM (SELECT 'feature' AS dimension, NEW.feature AS key UNION ALL SELECT 'provider', NEW.provider UNION ALL SELECT 'model', NEW.model UNION ALL SELECT 'outcome', NEW.outcome) WHERE true
  ON CONFLICT DO UPDATE SET
    calls = calls + excluded.calls,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    searches = searches + excluded.searches,
    cost_usd = cost_usd + excluded.cost_usd,
    cost_rest_nano_usd = cost_rest_nano_usd + excluded.cost_rest_nano_usd;
  INSERT INTO customer_totals (organization_id, customer_id, last_hour_ms, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_usd, cost_rest_nano_usd)
  VALUES (NEW.organization_id, NEW.customer_id, NEW.hour_ms, NEW.calls - OLD.calls, NEW.unpriced_calls - OLD.unpriced_calls, NEW.input_tokens - OLD.input_tokens, NEW.cached_input_tokens - OLD.cached_input_tokens, NEW.output_tokens - OLD.output_tokens, NEW.reasoning_tokens - OLD.reasoning_tokens, NEW.searches - OLD.searches, NEW.cost_usd - OLD.cost_usd, NEW.cost_rest_nano_usd - OLD.cost_rest_nano_usd)
  ON CONFLICT DO UPDATE SET
    last_hour_ms = MAX(last_hour_ms, excluded.last_hour_ms),
    calls = calls + excluded.calls,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    searches = searches + excluded.searches,
    cost_usd = cost_usd + excluded.cost_usd,
    cost_rest_nano_usd = cost_rest_nano_usd + excluded.cost_rest_nano_usd;
  UPDATE customer_running_totals SET
    calls = calls + NEW.calls - OLD.calls,
    unpriced_calls = unpriced_calls + NEW.unpriced_calls - OLD.unpriced_calls,
    input_tokens = input_tokens + NEW.input_tokens - OLD.input_tokens,
    cached_input_tokens = cached_input_tokens + NEW.cached_input_tokens - OLD.cached_input_tokens,
    output_tokens = output_tokens + NEW.output_tokens - OLD.output_tokens,
    reasoning_tokens = reasoning_tokens + NEW.reasoning_tokens - OLD.reasoning_tokens,
    searches = searches + NEW.searches - OLD.searches,
    cost_usd = cost_usd + NEW.cost_usd - OLD.cost_usd,
    cost_rest_nano_usd = cost_rest_nano_usd + NEW.cost_rest_nano_usd - OLD.cost_rest_nano_usd
  WHERE organization_id = NEW.organization_id AND customer_id = NEW.customer_id AND hour_ms >= NEW.hour_ms;
  INSERT INTO customer_days (organization_id, customer_id, day_ms, model, calls, failed_calls, cost_usd, cost_rest_nano_usd)
  SELECT OLD.organization_id, OLD.customer_id, OLD.hour_ms / 86400000 * 86400000, CASE WHEN OLD.cost_usd * 1000000000 + OLD.cost_rest_nano_usd > 0 THEN OLD.model ELSE '' END,
    -OLD.calls, CASE WHEN OLD.outcome = 'FAILED' THEN -OLD.calls ELSE 0 END, -OLD.cost_usd, -OLD.cost_rest_nano_usd
  WHERE OLD.outcome IN ('COMPLETED', 'FAILED')
  ON CONFLICT DO UPDATE SET
    calls = calls + excluded.calls,
    failed_calls = failed_calls + excluded.failed_calls,
    cost_usd = cost_usd + excluded.cost_usd,
    cost_rest_nano_usd = cost_rest_nano_usd + excluded.cost_rest_nano_usd;
  INSERT INTO customer_days (organization_id, customer_id, day_ms, model, calls, failed_calls, cost_usd, cost_rest_nano_usd)
  SELECT NEW.organization_id, NEW.customer_id, NEW.hour_ms / 86400000 * 86400000, CASE WHEN NEW.cost_usd * 1000000000 + NEW.cost_rest_nano_usd > 0 THEN NEW.model ELSE '' END,
    NEW.calls, CASE WHEN NEW.outcome = 'FAILED' THEN NEW.calls ELSE 0 END, NEW.cost_usd, NEW.cost_rest_nano_usd
  WHERE NEW.outcome IN ('COMPLETED', 'FAILED')
  ON CONFLICT DO UPDATE SET
    calls = calls + excluded.calls,
    failed_calls = failed_calls + excluded.failed_calls,
    cost_usd = cost_usd + excluded.cost_usd,
    cost_rest_nano_usd = cost_rest_nano_usd + excluded.cost_rest_nano_usd;
END;
--> statement-breakpoint
CREATE TRIGGER `usage_rollups_of_gone_hours` AFTER DELETE ON `usage_hours` BEGIN
  INSERT INTO organization_hours (organization_id, dimension, hour_ms, key, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_usd, cost_rest_nano_usd)
  SELECT OLD.organization_id, dimension, OLD.hour_ms, key, -OLD.calls, -OLD.unpriced_calls, -OLD.input_tokens, -OLD.cached_input_tokens, -OLD.output_tokens, -OLD.reasoning_tokens, -OLD.searches, -OLD.cost_usd, -OLD.cost_rest_nano_usd
  FROM (SELECT 'feature' AS dimension, OLD.feature AS key UNION ALL SELECT 'provider', OLD.provider UNION ALL SELECT 'model', OLD.model UNION ALL SELECT 'outcome', OLD.outcome) WHERE true
  ON CONFLICT DO UPDATE SET
    calls = calls + excluded.calls,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    searches = searches + excluded.searches,
    cost_usd = cost_usd + excluded.cost_usd,
    cost_rest_nano_usd = cost_rest_nano_usd + excluded.cost_rest_nano_usd;
  INSERT INTO organization_days (organization_id, dimension, day_ms, key, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_usd, cost_rest_nano_usd)
  SELECT OLD.organization_id, dimension, OLD.hour_ms / 86400000 * 86400000, key, -OLD.calls, -OLD.unpriced_calls, -OLD.input_tokens, -OLD.cached_input_tokens, -OLD.output_tokens, -OLD.reasoning_tokens, -OLD.searches, -OLD.cost_usd, -OLD.cost_rest_nano_usd
  FROM (SELECT 'feature' AS dimension, OLD.feature AS key UNION ALL SELECT 'provider', OLD.provider UNION ALL SELECT 'model', OLD.model UNION ALL SELECT 'outcome', OLD.outcome) WHERE true
  ON CONFLICT DO UPDATE SET
    calls = calls + excluded.calls,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    searches = searches + excluded.searches,
    cost_usd = cost_usd + excluded.cost_usd,
    cost_rest_nano_usd = cost_rest_nano_usd + excluded.cost_rest_nano_usd;
  DELETE FROM organization_hours
  WHERE organization_id = OLD.organization_id AND dimension IN ('feature', 'provider', 'model', 'outcome') AND hour_ms = OLD.hour_ms
    AND key IN (OLD.feature, OLD.provider, OLD.model, OLD.outcome) AND calls = 0;
  DELETE FROM organization_days
  WHERE organization_id = OLD.organization_id AND dimension IN ('feature', 'provider', 'model', 'outcome') AND day_ms = OLD.hour_ms / 86400000 * 86400000
    AND key IN (OLD.feature, OLD.provider, OLD.model, OLD.outcome) AND calls = 0;
END;
--> statement-breakpoint
CREATE TRIGGER `feature_rollups_of_new_hours` AFTER INSERT ON `usage_hours` BEGIN
  INSERT INTO feature_usage (organization_id, feature, unit, start_ms, provider, model, outcome, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_usd, cost_rest_nano_usd)
  SELECT NEW.organization_id, NEW.feature, unit, NEW.hour_ms / unit_ms * unit_ms, NEW.provider, NEW.model, NEW.outcome, NEW.calls, NEW.unpriced_calls, NEW.input_tokens, NEW.cached_input_tokens, NEW.output_tokens, NEW.reasoning_tokens, NEW.searches, NEW.cost_usd, NEW.cost_rest_nano_usd
  FROM (SELECT 'hour' AS unit, 3600000 AS unit_ms UNION ALL SELECT 'day', 86400000) WHERE true
  ON CONFLICT DO UPDATE SET
    calls = calls + excluded.calls,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    searches = searches + excluded.searches,
    cost_usd = cost_usd + excluded.cost_usd,
    cost_rest_nano_usd = cost_rest_nano_usd + excluded.cost_rest_nano_usd;
  INSERT INTO feature_customer_totals (organization_id, feature, customer_id, last_hour_ms, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_usd, cost_rest_nano_usd)
  VALUES (NEW.organization_id, NEW.feature, NEW.customer_id, NEW.hour_ms, NEW.calls, NEW.unpriced_calls, NEW.input_tokens, NEW.cached_input_tokens, NEW.output_tokens, NEW.reasoning_tokens, NEW.searches, NEW.cost_usd, NEW.cost_rest_nano_usd)
  ON CONFLICT DO UPDATE SET
    last_hour_ms = MAX(last_hour_ms, excluded.last_hour_ms),
    calls = calls + excluded.calls,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    searches = searches + excluded.searches,
    cost_usd = cost_usd + excluded.cost_usd,
    cost_rest_nano_usd = cost_rest_nano_usd + excluded.cost_rest_nano_usd;
  -- An hour holds what came before it, or itself so far, and what is new; which stands in every later hour too.
  INSERT INTO feature_running_totals (organization_id, customer_id, feature, hour_ms, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_usd, cost_rest_nano_usd)
  SELECT NEW.organization_id, NEW.customer_id, NEW.feature, NEW.hour_ms, COALESCE(calls, 0) + NEW.calls, COALESCE(unpriced_calls, 0) + NEW.unpriced_calls, COALESCE(input_tokens, 0) + NEW.input_tokens, COALESCE(cached_input_tokens, 0) + NEW.cached_input_tokens, COALESCE(output_tokens, 0) + NEW.output_tokens, COALESCE(reasoning_tokens, 0) + NEW.reasoning_tokens, COALESCE(searches, 0) + NEW.searches, COALESCE(cost_usd, 0) + NEW.cost_usd, COALESCE(cost_rest_nano_usd, 0) + NEW.cost_rest_nano_usd
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
    cost_usd = excluded.cost_usd,
    cost_rest_nano_usd = excluded.cost_rest_nano_usd;
  UPDATE feature_running_totals SET
    calls = calls + NEW.calls,
    unpriced_calls = unpriced_calls + NEW.unpriced_calls,
    input_tokens = input_tokens + NEW.input_tokens,
    cached_input_tokens = cached_input_tokens + NEW.cached_input_tokens,
    output_tokens = output_tokens + NEW.output_tokens,
    reasoning_tokens = reasoning_tokens + NEW.reasoning_tokens,
    searches = searches + NEW.searches,
    cost_usd = cost_usd + NEW.cost_usd,
    cost_rest_nano_usd = cost_rest_nano_usd + NEW.cost_rest_nano_usd
  WHERE organization_id = NEW.organization_id AND customer_id = NEW.customer_id AND feature = NEW.feature AND hour_ms > NEW.hour_ms;
END;
--> statement-breakpoint
CREATE TRIGGER `feature_rollups_of_changed_hours` AFTER UPDATE ON `usage_hours` BEGIN
  INSERT INTO feature_usage (organization_id, feature, unit, start_ms, provider, model, outcome, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_usd, cost_rest_nano_usd)
  SELECT NEW.organization_id, NEW.feature, unit, NEW.hour_ms / unit_ms * unit_ms, NEW.provider, NEW.model, NEW.outcome, NEW.calls - OLD.calls, NEW.unpriced_calls - OLD.unpriced_calls, NEW.input_tokens - OLD.input_tokens, NEW.cached_input_tokens - OLD.cached_input_tokens, NEW.output_tokens - OLD.output_tokens, NEW.reasoning_tokens - OLD.reasoning_tokens, NEW.searches - OLD.searches, NEW.cost_usd - OLD.cost_usd, NEW.cost_rest_nano_usd - OLD.cost_rest_nano_usd
  FROM (SELECT 'hour' AS unit, 3600000 AS unit_ms UNION ALL SELECT 'day', 86400000) WHERE true
  ON CONFLICT DO UPDATE SET
    calls = calls + excluded.calls,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    searches = searches + excluded.searches,
    cost_usd = cost_usd + excluded.cost_usd,
    cost_rest_nano_usd = cost_rest_nano_usd + excluded.cost_rest_nano_usd;
  INSERT INTO feature_customer_totals (organization_id, feature, customer_id, last_hour_ms, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_usd, cost_rest_nano_usd)
  VALUES (NEW.organization_id, NEW.feature, NEW.customer_id, NEW.hour_ms, NEW.calls - OLD.calls, NEW.unpriced_calls - OLD.unpriced_calls, NEW.input_tokens - OLD.input_tokens, NEW.cached_input_tokens - OLD.cached_input_tokens, NEW.output_tokens - OLD.output_tokens, NEW.reasoning_tokens - OLD.reasoning_tokens, NEW.searches - OLD.searches, NEW.cost_usd - OLD.cost_usd, NEW.cost_rest_nano_usd - OLD.cost_rest_nano_usd)
  ON CONFLICT DO UPDATE SET
    last_hour_ms = MAX(last_hour_ms, excluded.last_hour_ms),
    calls = calls + excluded.calls,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    searches = searches + excluded.searches,
    cost_usd = cost_usd + excluded.cost_usd,
    cost_rest_nano_usd = cost_rest_nano_usd + excluded.cost_rest_nano_usd;
  UPDATE feature_running_totals SET
    calls = calls + NEW.calls - OLD.calls,
    unpriced_calls = unpriced_calls + NEW.unpriced_calls - OLD.unpriced_calls,
    input_tokens = input_tokens + NEW.input_tokens - OLD.input_tokens,
    cached_input_tokens = cached_input_tokens + NEW.cached_input_tokens - OLD.cached_input_tokens,
    output_tokens = output_tokens + NEW.output_tokens - OLD.output_tokens,
    reasoning_tokens = reasoning_tokens + NEW.reasoning_tokens - OLD.reasoning_tokens,
    searches = searches + NEW.searches - OLD.searches,
    cost_usd = cost_usd + NEW.cost_usd - OLD.cost_usd,
    cost_rest_nano_usd = cost_rest_nano_usd + NEW.cost_rest_nano_usd - OLD.cost_rest_nano_usd
  WHERE organization_id = NEW.organization_id AND customer_id = NEW.customer_id AND feature = NEW.feature AND hour_ms >= NEW.hour_ms;
END;
--> statement-breakpoint
CREATE TRIGGER `feature_rollups_of_gone_hours` AFTER DELETE ON `usage_hours` BEGIN
  INSERT INTO feature_usage (organization_id, feature, unit, start_ms, provider, model, outcome, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_usd, cost_rest_nano_usd)
  SELECT OLD.organization_id, OLD.feature, unit, OLD.hour_ms / unit_ms * unit_ms, OLD.provider, OLD.model, OLD.outcome, -OLD.calls, -OLD.unpriced_calls, -OLD.input_tokens, -OLD.cached_input_tokens, -OLD.output_tokens, -OLD.reasoning_tokens, -OLD.searches, -OLD.cost_usd, -OLD.cost_rest_nano_usd
  FROM (SELECT 'hour' AS unit, 3600000 AS unit_ms UNION ALL SELECT 'day', 86400000) WHERE true
  ON CONFLICT DO UPDATE SET
    calls = calls + excluded.calls,
    unpriced_calls = unpriced_calls + excluded.unpriced_calls,
    input_tokens = input_tokens + excluded.input_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
    searches = searches + excluded.searches,
    cost_usd = cost_usd + excluded.cost_usd,
    cost_rest_nano_usd = cost_rest_nano_usd + excluded.cost_rest_nano_usd;
  DELETE FROM feature_usage
  WHERE organization_id = OLD.organization_id AND feature = OLD.feature AND unit IN ('hour', 'day') AND start_ms IN (OLD.hour_ms, OLD.hour_ms / 86400000 * 86400000)
    AND provider = OLD.provider AND model = OLD.model AND outcome = OLD.outcome AND calls = 0;
END;
--> statement-breakpoint
CREATE TRIGGER `usage_changes_of_new_calls` AFTER INSERT ON `calls` WHEN NEW.status <> 'IN_PROGRESS' BEGIN
  INSERT INTO usage_changes (organization_id, customer_id, hour_ms, feature, provider, model, outcome, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_usd, cost_rest_nano_usd)
  VALUES (NEW.organization_id, NEW.customer_id, COALESCE(NEW.finished_at_ms, NEW.started_at_ms) / 3600000 * 3600000, COALESCE(NEW.feature, ''),
    CASE WHEN INSTR(COALESCE(NEW.model_key, ''), '/') > 0 THEN SUBSTR(NEW.model_key, 1, INSTR(NEW.model_key, '/') - 1) ELSE LOWER(COALESCE(NEW.provider_used, '')) END,
    COALESCE(NEW.model_key, NEW.model_used, ''), NEW.status, 1, CASE WHEN NEW.status IN ('COMPLETED', 'FAILED') AND NEW.cost_nano_usd IS NULL THEN 1 ELSE 0 END,
    COALESCE(NEW.input_tokens, 0), COALESCE(NEW.cached_input_tokens, 0), COALESCE(NEW.response_tokens, 0),
    COALESCE(NEW.reasoning_tokens, 0), COALESCE(NEW.searches, 0), COALESCE(NEW.cost_nano_usd, 0) / 1000000000, COALESCE(NEW.cost_nano_usd, 0) % 1000000000);
END;
--> statement-breakpoint
CREATE TRIGGER `usage_changes_of_changed_calls` AFTER UPDATE ON `calls`
WHEN (NEW.customer_id, NEW.feature, NEW.status, NEW.started_at_ms, NEW.finished_at_ms, NEW.provider_used,
  NEW.model_used, NEW.model_key, NEW.input_tokens, NEW.cached_input_tokens, NEW.response_tokens, NEW.reasoning_tokens, NEW.searches, NEW.cost_nano_usd)
  IS NOT (OLD.customer_id, OLD.feature, OLD.status, OLD.started_at_ms, OLD.finished_at_ms, OLD.provider_used,
  OLD.model_used, OLD.model_key, OLD.input_tokens, OLD.cached_input_tokens, OLD.response_tokens, OLD.reasoning_tokens, OLD.searches, OLD.cost_nano_usd)
BEGIN
  INSERT INTO usage_changes (organization_id, customer_id, hour_ms, feature, provider, model, outcome, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_usd, cost_rest_nano_usd)
  SELECT OLD.organization_id, OLD.customer_id, COALESCE(OLD.finished_at_ms, OLD.started_at_ms) / 3600000 * 3600000, COALESCE(OLD.feature, ''),
    CASE WHEN INSTR(COALESCE(OLD.model_key, ''), '/') > 0 THEN SUBSTR(OLD.model_key, 1, INSTR(OLD.model_key, '/') - 1) ELSE LOWER(COALESCE(OLD.provider_used, '')) END,
    COALESCE(OLD.model_key, OLD.model_used, ''), OLD.status, -1, CASE WHEN OLD.status IN ('COMPLETED', 'FAILED') AND OLD.cost_nano_usd IS NULL THEN -1 ELSE 0 END,
    -COALESCE(OLD.input_tokens, 0), -COALESCE(OLD.cached_input_tokens, 0), -COALESCE(OLD.response_tokens, 0),
    -COALESCE(OLD.reasoning_tokens, 0), -COALESCE(OLD.searches, 0), -(COALESCE(OLD.cost_nano_usd, 0) / 1000000000), -(COALESCE(OLD.cost_nano_usd, 0) % 1000000000)
  WHERE OLD.status <> 'IN_PROGRESS'
  UNION ALL
  SELECT NEW.organization_id, NEW.customer_id, COALESCE(NEW.finished_at_ms, NEW.started_at_ms) / 3600000 * 3600000, COALESCE(NEW.feature, ''),
    CASE WHEN INSTR(COALESCE(NEW.model_key, ''), '/') > 0 THEN SUBSTR(NEW.model_key, 1, INSTR(NEW.model_key, '/') - 1) ELSE LOWER(COALESCE(NEW.provider_used, '')) END,
    COALESCE(NEW.model_key, NEW.model_used, ''), NEW.status, 1, CASE WHEN NEW.status IN ('COMPLETED', 'FAILED') AND NEW.cost_nano_usd IS NULL THEN 1 ELSE 0 END,
    COALESCE(NEW.input_tokens, 0), COALESCE(NEW.cached_input_tokens, 0), COALESCE(NEW.response_tokens, 0),
    COALESCE(NEW.reasoning_tokens, 0), COALESCE(NEW.searches, 0), COALESCE(NEW.cost_nano_usd, 0) / 1000000000, COALESCE(NEW.cost_nano_usd, 0) % 1000000000
  WHERE NEW.status <> 'IN_PROGRESS';
END;
