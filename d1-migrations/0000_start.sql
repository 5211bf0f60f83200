CREATE TABLE `archive_erasures` (
	`organization_id` text NOT NULL,
	`customer_id` text NOT NULL,
	`erased_at_ms` integer NOT NULL,
	`done_day_ms` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `customer_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `archive_lease` (
	`id` integer PRIMARY KEY NOT NULL,
	`until_ms` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `history_days` (
	`organization_id` text NOT NULL,
	`day_ms` integer NOT NULL,
	`state` text NOT NULL,
	`generation` text,
	`archived_at_ms` integer,
	`archived_rows` integer,
	PRIMARY KEY(`organization_id`, `day_ms`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `history_days_to_archive` ON `history_days` (`day_ms`) WHERE state <> 'ARCHIVED';--> statement-breakpoint
CREATE TABLE `calls` (
	`organization_id` text NOT NULL,
	`call_id` text NOT NULL,
	`customer_id` text NOT NULL,
	`customer_user_id` text,
	`feature` text,
	`tags` text,
	`status` text NOT NULL,
	`started_at_ms` integer NOT NULL,
	`finished_at_ms` integer,
	`usage_plan_version_id` text NOT NULL,
	`pricing_mode` text NOT NULL,
	`provider_used` text,
	`usage_provider` text NOT NULL,
	`model_used` text,
	`model_key` text,
	`tier` text,
	`input_tokens` integer,
	`cached_input_tokens` integer,
	`cache_write_input_tokens` integer,
	`response_tokens` integer,
	`reasoning_tokens` integer,
	`searches` integer,
	`usage_source` text,
	`error_code` text,
	`pricing_snapshot_id` text,
	`standard_cost_nano_usd` integer,
	`cost_nano_usd` integer,
	`original_tokens` integer,
	`compressed_tokens` integer,
	`saved_tokens` integer,
	`cost_avoided_nano_usd` integer,
	`compression_techniques` text,
	`reversed_at_ms` integer,
	`record` text NOT NULL,
	`revision` integer NOT NULL,
	`delivery` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `call_id`)
);
--> statement-breakpoint
CREATE INDEX `calls_by_time` ON `calls` (`organization_id`,`started_at_ms`);--> statement-breakpoint
CREATE INDEX `calls_by_customer` ON `calls` (`organization_id`,`customer_id`,`started_at_ms`);--> statement-breakpoint
CREATE INDEX `calls_with_compression` ON `calls` (`organization_id`,`started_at_ms`) WHERE original_tokens IS NOT NULL;--> statement-breakpoint
CREATE TABLE `denied_hours` (
	`organization_id` text NOT NULL,
	`customer_id` text NOT NULL,
	`hour_ms` integer NOT NULL,
	`feature` text NOT NULL,
	`calls` integer NOT NULL,
	`revision` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `customer_id`, `hour_ms`, `feature`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `denied_hours_by_time` ON `denied_hours` (`organization_id`,`hour_ms`);--> statement-breakpoint
CREATE TABLE `credit_entries` (
	`organization_id` text NOT NULL,
	`customer_id` text NOT NULL,
	`entry_id` integer NOT NULL,
	`at_ms` integer NOT NULL,
	`unit` text NOT NULL,
	`cause` text NOT NULL,
	`amount` text NOT NULL,
	`balance` text NOT NULL,
	`credit_id` text,
	`reference` text,
	`revision` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `customer_id`, `entry_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `credit_entries_by_time` ON `credit_entries` (`organization_id`,`at_ms`);--> statement-breakpoint
CREATE TABLE `customers` (
	`organization_id` text NOT NULL,
	`customer_id` text NOT NULL,
	`friendly_name` text,
	`customer_id_lower` text,
	`friendly_name_lower` text,
	`email` text,
	`stripe_customer_id` text,
	`subscription_id` text NOT NULL,
	`subscription_version` integer NOT NULL,
	`plan_id` text NOT NULL,
	`usage_plan_version_id` text NOT NULL,
	`pending_usage_plan_version_id` text,
	`created_at_ms` integer NOT NULL,
	`last_replenished_at_ms` integer NOT NULL,
	`next_replenish_at_ms` integer NOT NULL,
	`canceled_at_ms` integer,
	`revision` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `customer_id`)
);
--> statement-breakpoint
CREATE INDEX `customers_by_plan` ON `customers` (`organization_id`,`plan_id`,`customer_id`);--> statement-breakpoint
CREATE INDEX `customers_by_id_search` ON `customers` (`organization_id`,`customer_id_lower`,`customer_id`);--> statement-breakpoint
CREATE INDEX `customers_by_name_search` ON `customers` (`organization_id`,`friendly_name_lower`,`customer_id`);--> statement-breakpoint
CREATE TABLE `database_sizes` (
	`day_ms` integer PRIMARY KEY NOT NULL,
	`bytes` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `erased_subscriptions` (
	`subscription_id` text PRIMARY KEY NOT NULL,
	`erased_at_ms` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `meter_events` (
	`organization_id` text NOT NULL,
	`event_id` text NOT NULL,
	`customer_id` text NOT NULL,
	`customer_user_id` text,
	`feature` text,
	`slot` text NOT NULL,
	`amount` integer NOT NULL,
	`at_ms` integer NOT NULL,
	`usage_plan_version_id` text NOT NULL,
	`included` integer NOT NULL,
	`credits` integer NOT NULL,
	`overage` integer NOT NULL,
	`unfunded` integer NOT NULL,
	`charge_nano_usd` text,
	`settlement_status` text,
	`reversed_at_ms` integer,
	`record` text NOT NULL,
	`revision` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `customer_id`, `event_id`)
);
--> statement-breakpoint
CREATE INDEX `meter_events_by_time` ON `meter_events` (`organization_id`,`at_ms`);--> statement-breakpoint
CREATE TABLE `operator_events` (
	`event_id` text PRIMARY KEY NOT NULL,
	`at_ms` integer NOT NULL,
	`actor` text NOT NULL,
	`action` text NOT NULL,
	`organization_id` text,
	`subject` text NOT NULL,
	`before` text,
	`after` text,
	`correlation_id` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `operator_events_by_organization` ON `operator_events` (`organization_id`,`event_id`);--> statement-breakpoint
CREATE TABLE `operator_idempotency` (
	`idempotency_key` text PRIMARY KEY NOT NULL,
	`fingerprint` text NOT NULL,
	`answer` text NOT NULL,
	`expires_at_ms` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `catalog_reviews` (
	`model_key` text PRIMARY KEY NOT NULL,
	`replacement_model_key` text NOT NULL,
	`reason` text NOT NULL,
	`reviewed_at_ms` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `pricing_snapshots` (
	`snapshot_id` text PRIMARY KEY NOT NULL,
	`provider` text NOT NULL,
	`model_key` text NOT NULL,
	`effective_from` text,
	`rates` text NOT NULL,
	`source` text NOT NULL,
	`catalog_version` text NOT NULL,
	`recorded_at_ms` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `pricing_snapshots_by_model` ON `pricing_snapshots` (`model_key`);--> statement-breakpoint
CREATE TABLE `api_keys` (
	`key_id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`key_hash` text NOT NULL,
	`prefix` text NOT NULL,
	`hint` text NOT NULL,
	`name` text NOT NULL,
	`scopes` text,
	`has_checksum` integer DEFAULT false NOT NULL,
	`created_at_ms` integer NOT NULL,
	`revoked_at_ms` integer,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`organization_id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_by_hash` ON `api_keys` (`key_hash`);--> statement-breakpoint
CREATE INDEX `api_keys_by_organization` ON `api_keys` (`organization_id`,`key_id`);--> statement-breakpoint
CREATE INDEX `api_keys_without_checksum` ON `api_keys` (`key_hash`) WHERE has_checksum = 0 AND revoked_at_ms IS NULL;--> statement-breakpoint
CREATE TABLE `organization_prices` (
	`organization_id` text NOT NULL,
	`model_key` text NOT NULL,
	`effective_from_ms` integer NOT NULL,
	`snapshot_id` text NOT NULL,
	`rates` text NOT NULL,
	`updated_at_ms` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `model_key`, `effective_from_ms`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`organization_id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `organization_sizes` (
	`organization_id` text PRIMARY KEY NOT NULL,
	`customers` integer NOT NULL,
	`samples` integer NOT NULL,
	`sample_bytes` integer NOT NULL,
	`sample_bytes_max` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `organizations` (
	`organization_id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`database` text DEFAULT 'DB' NOT NULL,
	`default_plan_id` text,
	`models` text,
	`sampling` text,
	`compression_profile` text,
	`sample_bytes_max` integer DEFAULT 268435456 NOT NULL,
	`allow_unpriced_models` integer DEFAULT false NOT NULL,
	`retention` text,
	`created_at_ms` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `plan_versions` (
	`organization_id` text NOT NULL,
	`plan_id` text NOT NULL,
	`version` integer NOT NULL,
	`usage_plan_version_id` text NOT NULL,
	`content` text NOT NULL,
	`created_at_ms` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `plan_id`, `version`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`organization_id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `plan_versions_by_id` ON `plan_versions` (`organization_id`,`usage_plan_version_id`);--> statement-breakpoint
CREATE TABLE `running_estimates` (
	`organization_id` text NOT NULL,
	`job_id` text NOT NULL,
	`started_at_ms` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `job_id`)
);
--> statement-breakpoint
CREATE TABLE `vendor_credentials` (
	`organization_id` text NOT NULL,
	`provider` text NOT NULL,
	`base_url` text NOT NULL,
	`sealed_key` text NOT NULL,
	`key_hint` text NOT NULL,
	`use_reported_cost` integer NOT NULL,
	`updated_at_ms` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `provider`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`organization_id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `samples` (
	`organization_id` text NOT NULL,
	`sample_id` text NOT NULL,
	`fingerprint` text NOT NULL,
	`received_at_ms` integer NOT NULL,
	`expires_at_ms` integer NOT NULL,
	`retention_days` integer NOT NULL,
	`policy_version` text NOT NULL,
	`decision_id` text,
	`decision_policy_version` text,
	`customer_id` text,
	`feature` text,
	`environment` text,
	`tags` text NOT NULL,
	`provider` text NOT NULL,
	`model` text,
	`latency_ms` real,
	`payload_bytes` integer NOT NULL,
	`stored_bytes` integer GENERATED ALWAYS AS (payload_bytes + 1024 + LENGTH(CAST(COALESCE(sample_id, '') || COALESCE(customer_id, '') || COALESCE(feature, '') || COALESCE(environment, '') || COALESCE(tags, '') || COALESCE(provider, '') || COALESCE(model, '') || COALESCE(decision_id, '') || COALESCE(decision_policy_version, '') AS BLOB))) VIRTUAL,
	`payload` text NOT NULL,
	PRIMARY KEY(`organization_id`, `sample_id`)
);
--> statement-breakpoint
CREATE INDEX `samples_by_time` ON `samples` (`organization_id`,`received_at_ms`,`sample_id`);--> statement-breakpoint
CREATE INDEX `samples_by_customer` ON `samples` (`organization_id`,`customer_id`,`received_at_ms`,`sample_id`);--> statement-breakpoint
CREATE INDEX `samples_by_expiry` ON `samples` (`expires_at_ms`);--> statement-breakpoint
CREATE TABLE `customer_days` (
	`organization_id` text NOT NULL,
	`customer_id` text NOT NULL,
	`day_ms` integer NOT NULL,
	`paid_model` text NOT NULL,
	`calls` integer NOT NULL,
	`failed_calls` integer NOT NULL,
	`cost_usd` integer DEFAULT 0 NOT NULL,
	`cost_rest_nano_usd` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `customer_id`, `day_ms`, `paid_model`)
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
	`provisional_calls` integer DEFAULT 0 NOT NULL,
	`provisional_cost_usd` integer DEFAULT 0 NOT NULL,
	`provisional_cost_rest_nano_usd` integer DEFAULT 0 NOT NULL,
	`cost_usd` integer DEFAULT 0 NOT NULL,
	`cost_rest_nano_usd` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `customer_id`, `hour_ms`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `customer_weeks` (
	`organization_id` text NOT NULL,
	`customer_id` text NOT NULL,
	`week_ms` integer NOT NULL,
	`calls` integer NOT NULL,
	`cost_usd` integer DEFAULT 0 NOT NULL,
	`cost_rest_nano_usd` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `customer_id`, `week_ms`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `customer_weeks_by_cost` ON `customer_weeks` (`organization_id`,`week_ms`,(cost_usd * 1000000000 + cost_rest_nano_usd),`calls`);--> statement-breakpoint
CREATE TABLE `feature_customer_weeks` (
	`organization_id` text NOT NULL,
	`customer_id` text NOT NULL,
	`feature` text NOT NULL,
	`week_ms` integer NOT NULL,
	`calls` integer NOT NULL,
	`cost_usd` integer DEFAULT 0 NOT NULL,
	`cost_rest_nano_usd` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `customer_id`, `feature`, `week_ms`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `feature_customer_weeks_by_cost` ON `feature_customer_weeks` (`organization_id`,`feature`,`week_ms`,(cost_usd * 1000000000 + cost_rest_nano_usd),`calls`);--> statement-breakpoint
CREATE TABLE `feature_days` (
	`organization_id` text NOT NULL,
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
	`provisional_calls` integer DEFAULT 0 NOT NULL,
	`provisional_cost_usd` integer DEFAULT 0 NOT NULL,
	`provisional_cost_rest_nano_usd` integer DEFAULT 0 NOT NULL,
	`cost_usd` integer DEFAULT 0 NOT NULL,
	`cost_rest_nano_usd` integer NOT NULL,
	`day_ms` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `feature`, `day_ms`, `provider`, `model`, `outcome`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `feature_hours` (
	`organization_id` text NOT NULL,
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
	`provisional_calls` integer DEFAULT 0 NOT NULL,
	`provisional_cost_usd` integer DEFAULT 0 NOT NULL,
	`provisional_cost_rest_nano_usd` integer DEFAULT 0 NOT NULL,
	`cost_usd` integer DEFAULT 0 NOT NULL,
	`cost_rest_nano_usd` integer NOT NULL,
	`hour_ms` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `feature`, `hour_ms`, `provider`, `model`, `outcome`)
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
	`provisional_calls` integer DEFAULT 0 NOT NULL,
	`provisional_cost_usd` integer DEFAULT 0 NOT NULL,
	`provisional_cost_rest_nano_usd` integer DEFAULT 0 NOT NULL,
	`cost_usd` integer DEFAULT 0 NOT NULL,
	`cost_rest_nano_usd` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `customer_id`, `feature`, `hour_ms`)
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
	`provisional_calls` integer DEFAULT 0 NOT NULL,
	`provisional_cost_usd` integer DEFAULT 0 NOT NULL,
	`provisional_cost_rest_nano_usd` integer DEFAULT 0 NOT NULL,
	`cost_usd` integer DEFAULT 0 NOT NULL,
	`cost_rest_nano_usd` integer NOT NULL,
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
	`provisional_calls` integer DEFAULT 0 NOT NULL,
	`provisional_cost_usd` integer DEFAULT 0 NOT NULL,
	`provisional_cost_rest_nano_usd` integer DEFAULT 0 NOT NULL,
	`cost_usd` integer DEFAULT 0 NOT NULL,
	`cost_rest_nano_usd` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `dimension`, `hour_ms`, `key`)
) WITHOUT ROWID;
--> statement-breakpoint
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
	`provisional_calls` integer DEFAULT 0 NOT NULL,
	`provisional_cost_usd` integer DEFAULT 0 NOT NULL,
	`provisional_cost_rest_nano_usd` integer DEFAULT 0 NOT NULL,
	`cost_usd` integer DEFAULT 0 NOT NULL,
	`cost_rest_nano_usd` integer NOT NULL,
	`paid_model` text NOT NULL
);
--> statement-breakpoint
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
	`provisional_calls` integer DEFAULT 0 NOT NULL,
	`provisional_cost_usd` integer DEFAULT 0 NOT NULL,
	`provisional_cost_rest_nano_usd` integer DEFAULT 0 NOT NULL,
	`cost_usd` integer DEFAULT 0 NOT NULL,
	`cost_rest_nano_usd` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `customer_id`, `hour_ms`, `feature`, `provider`, `model`, `outcome`)
) WITHOUT ROWID;
--> statement-breakpoint
-- Written by hand, because drizzle-kit knows neither `WITHOUT ROWID` (added above where rows are small and found by
-- their key, which then is the table: one row written instead of two) nor triggers. Triggers hold what concurrent
-- requests of an organization must not get wrong: how many customers and samples it has, and that a sample beyond its
-- quota is not stored. A customer or sample never changes its organization, and a sample never changes its size.
CREATE TRIGGER `organization_sizes_of_new_customers` AFTER INSERT ON `customers` BEGIN
  INSERT INTO organization_sizes (organization_id, customers, samples, sample_bytes, sample_bytes_max) VALUES (NEW.organization_id, 1, 0, 0, 0)
  ON CONFLICT DO UPDATE SET customers = customers + 1;
END;
--> statement-breakpoint
CREATE TRIGGER `organization_sizes_of_gone_customers` AFTER DELETE ON `customers` BEGIN
  UPDATE organization_sizes SET customers = customers - 1 WHERE organization_id = OLD.organization_id;
END;
--> statement-breakpoint
-- The insert of a sample beyond the quota is ignored, which is no error: whoever inserts has to look, and to write the
-- quota to `organization_sizes` before, because the organization's settings may be in another database.
CREATE TRIGGER `samples_within_quota` BEFORE INSERT ON `samples`
WHEN COALESCE((SELECT sample_bytes FROM organization_sizes WHERE organization_id = NEW.organization_id), 0) + NEW.stored_bytes
  > COALESCE((SELECT sample_bytes_max FROM organization_sizes WHERE organization_id = NEW.organization_id), 0)
BEGIN
  SELECT RAISE(IGNORE);
END;
--> statement-breakpoint
CREATE TRIGGER `organization_sizes_of_new_samples` AFTER INSERT ON `samples` BEGIN
  UPDATE organization_sizes SET samples = samples + 1, sample_bytes = sample_bytes + NEW.stored_bytes
  WHERE organization_id = NEW.organization_id;
END;
--> statement-breakpoint
CREATE TRIGGER `organization_sizes_of_gone_samples` AFTER DELETE ON `samples` BEGIN
  UPDATE organization_sizes SET samples = samples - 1, sample_bytes = sample_bytes - OLD.stored_bytes WHERE organization_id = OLD.organization_id;
END;
--> statement-breakpoint
-- The days of history that the archive has to write (`history_days`): every row that is new or changed, whoever writes
-- it, makes its day CHANGED in the same transaction. A day that is CHANGED already costs a look into an index.
CREATE TRIGGER `history_days_of_new_calls` AFTER INSERT ON `calls`
WHEN NOT EXISTS (SELECT 1 FROM history_days WHERE organization_id = NEW.organization_id AND day_ms = NEW.started_at_ms / 86400000 * 86400000 AND state = 'CHANGED')
BEGIN
  INSERT INTO history_days (organization_id, day_ms, state) VALUES (NEW.organization_id, NEW.started_at_ms / 86400000 * 86400000, 'CHANGED')
  ON CONFLICT DO UPDATE SET state = 'CHANGED';
END;
--> statement-breakpoint
CREATE TRIGGER `history_days_of_changed_calls` AFTER UPDATE ON `calls`
WHEN NOT EXISTS (SELECT 1 FROM history_days WHERE organization_id = NEW.organization_id AND day_ms = NEW.started_at_ms / 86400000 * 86400000 AND state = 'CHANGED')
BEGIN
  INSERT INTO history_days (organization_id, day_ms, state) VALUES (NEW.organization_id, NEW.started_at_ms / 86400000 * 86400000, 'CHANGED')
  ON CONFLICT DO UPDATE SET state = 'CHANGED';
END;
--> statement-breakpoint
CREATE TRIGGER `history_days_of_new_meter_events` AFTER INSERT ON `meter_events`
WHEN NOT EXISTS (SELECT 1 FROM history_days WHERE organization_id = NEW.organization_id AND day_ms = NEW.at_ms / 86400000 * 86400000 AND state = 'CHANGED')
BEGIN
  INSERT INTO history_days (organization_id, day_ms, state) VALUES (NEW.organization_id, NEW.at_ms / 86400000 * 86400000, 'CHANGED')
  ON CONFLICT DO UPDATE SET state = 'CHANGED';
END;
--> statement-breakpoint
CREATE TRIGGER `history_days_of_changed_meter_events` AFTER UPDATE ON `meter_events`
WHEN NOT EXISTS (SELECT 1 FROM history_days WHERE organization_id = NEW.organization_id AND day_ms = NEW.at_ms / 86400000 * 86400000 AND state = 'CHANGED')
BEGIN
  INSERT INTO history_days (organization_id, day_ms, state) VALUES (NEW.organization_id, NEW.at_ms / 86400000 * 86400000, 'CHANGED')
  ON CONFLICT DO UPDATE SET state = 'CHANGED';
END;
--> statement-breakpoint
CREATE TRIGGER `history_days_of_new_credit_entries` AFTER INSERT ON `credit_entries`
WHEN NOT EXISTS (SELECT 1 FROM history_days WHERE organization_id = NEW.organization_id AND day_ms = NEW.at_ms / 86400000 * 86400000 AND state = 'CHANGED')
BEGIN
  INSERT INTO history_days (organization_id, day_ms, state) VALUES (NEW.organization_id, NEW.at_ms / 86400000 * 86400000, 'CHANGED')
  ON CONFLICT DO UPDATE SET state = 'CHANGED';
END;
--> statement-breakpoint
CREATE TRIGGER `history_days_of_changed_credit_entries` AFTER UPDATE ON `credit_entries`
WHEN NOT EXISTS (SELECT 1 FROM history_days WHERE organization_id = NEW.organization_id AND day_ms = NEW.at_ms / 86400000 * 86400000 AND state = 'CHANGED')
BEGIN
  INSERT INTO history_days (organization_id, day_ms, state) VALUES (NEW.organization_id, NEW.at_ms / 86400000 * 86400000, 'CHANGED')
  ON CONFLICT DO UPDATE SET state = 'CHANGED';
END;
