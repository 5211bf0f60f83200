CREATE TABLE `usage_changes` (
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
	`cost_nano_usd` integer NOT NULL
);
--> statement-breakpoint
-- Every ended call counts in the hour of its end. From here on the triggers say what is to be counted, and the batch that
-- brings the calls counts it, once for all of them. What a version before this one brings meanwhile waits for the next batch.
DROP TRIGGER `usage_hours_of_new_calls`;
--> statement-breakpoint
DROP TRIGGER `usage_hours_of_changed_calls`;
--> statement-breakpoint
CREATE TRIGGER `usage_changes_of_new_calls` AFTER INSERT ON `calls` WHEN NEW.status <> 'IN_PROGRESS' BEGIN
  INSERT INTO usage_changes (organization_id, customer_id, hour_ms, feature, provider, model, outcome, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
  VALUES (NEW.organization_id, NEW.customer_id, COALESCE(NEW.finished_at_ms, NEW.started_at_ms) / 3600000 * 3600000, COALESCE(NEW.feature, ''),
    CASE WHEN INSTR(COALESCE(NEW.model_key, ''), '/') > 0 THEN SUBSTR(NEW.model_key, 1, INSTR(NEW.model_key, '/') - 1) ELSE LOWER(COALESCE(NEW.provider_used, '')) END,
    COALESCE(NEW.model_key, NEW.model_used, ''), NEW.status, 1, CASE WHEN NEW.status IN ('COMPLETED', 'FAILED') AND NEW.cost_nano_usd IS NULL THEN 1 ELSE 0 END,
    COALESCE(NEW.input_tokens, 0), COALESCE(NEW.cached_input_tokens, 0), COALESCE(NEW.response_tokens, 0),
    COALESCE(NEW.reasoning_tokens, 0), COALESCE(NEW.searches, 0), COALESCE(NEW.cost_nano_usd, 0));
END;
--> statement-breakpoint
-- A call that is recorded anew (a late end) takes back what it counted as, but for one of which nothing changes that is counted.
CREATE TRIGGER `usage_changes_of_changed_calls` AFTER UPDATE ON `calls`
WHEN (NEW.customer_id, NEW.feature, NEW.status, NEW.started_at_ms, NEW.finished_at_ms, NEW.provider_used,
  NEW.model_used, NEW.model_key, NEW.input_tokens, NEW.cached_input_tokens, NEW.response_tokens, NEW.reasoning_tokens, NEW.searches, NEW.cost_nano_usd)
  IS NOT (OLD.customer_id, OLD.feature, OLD.status, OLD.started_at_ms, OLD.finished_at_ms, OLD.provider_used,
  OLD.model_used, OLD.model_key, OLD.input_tokens, OLD.cached_input_tokens, OLD.response_tokens, OLD.reasoning_tokens, OLD.searches, OLD.cost_nano_usd)
BEGIN
  INSERT INTO usage_changes (organization_id, customer_id, hour_ms, feature, provider, model, outcome, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_nano_usd)
  SELECT OLD.organization_id, OLD.customer_id, COALESCE(OLD.finished_at_ms, OLD.started_at_ms) / 3600000 * 3600000, COALESCE(OLD.feature, ''),
    CASE WHEN INSTR(COALESCE(OLD.model_key, ''), '/') > 0 THEN SUBSTR(OLD.model_key, 1, INSTR(OLD.model_key, '/') - 1) ELSE LOWER(COALESCE(OLD.provider_used, '')) END,
    COALESCE(OLD.model_key, OLD.model_used, ''), OLD.status, -1, CASE WHEN OLD.status IN ('COMPLETED', 'FAILED') AND OLD.cost_nano_usd IS NULL THEN -1 ELSE 0 END,
    -COALESCE(OLD.input_tokens, 0), -COALESCE(OLD.cached_input_tokens, 0), -COALESCE(OLD.response_tokens, 0),
    -COALESCE(OLD.reasoning_tokens, 0), -COALESCE(OLD.searches, 0), -COALESCE(OLD.cost_nano_usd, 0)
  WHERE OLD.status <> 'IN_PROGRESS'
  UNION ALL
  SELECT NEW.organization_id, NEW.customer_id, COALESCE(NEW.finished_at_ms, NEW.started_at_ms) / 3600000 * 3600000, COALESCE(NEW.feature, ''),
    CASE WHEN INSTR(COALESCE(NEW.model_key, ''), '/') > 0 THEN SUBSTR(NEW.model_key, 1, INSTR(NEW.model_key, '/') - 1) ELSE LOWER(COALESCE(NEW.provider_used, '')) END,
    COALESCE(NEW.model_key, NEW.model_used, ''), NEW.status, 1, CASE WHEN NEW.status IN ('COMPLETED', 'FAILED') AND NEW.cost_nano_usd IS NULL THEN 1 ELSE 0 END,
    COALESCE(NEW.input_tokens, 0), COALESCE(NEW.cached_input_tokens, 0), COALESCE(NEW.response_tokens, 0),
    COALESCE(NEW.reasoning_tokens, 0), COALESCE(NEW.searches, 0), COALESCE(NEW.cost_nano_usd, 0)
  WHERE NEW.status <> 'IN_PROGRESS';
END;
