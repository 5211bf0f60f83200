CREATE TABLE `denied_hours` (
	`organization_id` text NOT NULL,
	`customer_id` text NOT NULL,
	`hour_ms` integer NOT NULL,
	`feature` text NOT NULL,
	`calls` integer NOT NULL,
	`revision` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `customer_id`, `hour_ms`, `feature`)
);
--> statement-breakpoint
CREATE INDEX `denied_hours_by_age` ON `denied_hours` (`hour_ms`);
--> statement-breakpoint
-- A row counts as so many denied calls of its hour. One that comes again with more of them counts what is new.
CREATE TRIGGER `usage_changes_of_new_denied_hours` AFTER INSERT ON `denied_hours` BEGIN
  INSERT INTO usage_changes (organization_id, customer_id, hour_ms, feature, provider, model, outcome, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_usd, cost_rest_nano_usd)
  VALUES (NEW.organization_id, NEW.customer_id, NEW.hour_ms, NEW.feature, '', '', 'NOT_ALLOWED', NEW.calls, 0, 0, 0, 0, 0, 0, 0, 0);
END;
--> statement-breakpoint
CREATE TRIGGER `usage_changes_of_changed_denied_hours` AFTER UPDATE ON `denied_hours` WHEN NEW.calls <> OLD.calls BEGIN
  INSERT INTO usage_changes (organization_id, customer_id, hour_ms, feature, provider, model, outcome, calls, unpriced_calls, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, searches, cost_usd, cost_rest_nano_usd)
  VALUES (NEW.organization_id, NEW.customer_id, NEW.hour_ms, NEW.feature, '', '', 'NOT_ALLOWED', NEW.calls - OLD.calls, 0, 0, 0, 0, 0, 0, 0, 0);
END;
