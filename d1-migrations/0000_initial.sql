CREATE TABLE `api_keys` (
	`key_id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`key_hash` text NOT NULL,
	`prefix` text NOT NULL,
	`hint` text NOT NULL,
	`name` text NOT NULL,
	`scopes` text,
	`created_at_ms` integer NOT NULL,
	`revoked_at_ms` integer,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`organization_id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_by_hash` ON `api_keys` (`key_hash`);--> statement-breakpoint
CREATE INDEX `api_keys_by_organization` ON `api_keys` (`organization_id`,`key_id`);--> statement-breakpoint
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
	`model_used` text,
	`model_key` text,
	`tier` text,
	`input_tokens` integer,
	`cached_input_tokens` integer,
	`cache_write_input_tokens` integer,
	`response_tokens` integer,
	`reasoning_tokens` integer,
	`searches` integer,
	`error_code` text,
	`pricing_snapshot_id` text,
	`standard_cost_nano_usd` integer,
	`cost_nano_usd` integer,
	`record` text NOT NULL,
	`revision` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `call_id`)
);
--> statement-breakpoint
CREATE INDEX `calls_by_time` ON `calls` (`organization_id`,`started_at_ms`);--> statement-breakpoint
CREATE INDEX `calls_by_customer` ON `calls` (`organization_id`,`customer_id`,`started_at_ms`);--> statement-breakpoint
CREATE INDEX `calls_by_age` ON `calls` (`started_at_ms`);--> statement-breakpoint
CREATE TABLE `customers` (
	`organization_id` text NOT NULL,
	`customer_id` text NOT NULL,
	`friendly_name` text,
	`email` text,
	`stripe_customer_id` text,
	`subscription_id` text NOT NULL,
	`subscription_version` integer NOT NULL,
	`plan_id` text NOT NULL,
	`usage_plan_version_id` text NOT NULL,
	`created_at_ms` integer NOT NULL,
	`last_replenished_at_ms` integer NOT NULL,
	`next_replenish_at_ms` integer NOT NULL,
	`canceled_at_ms` integer,
	`revision` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `customer_id`)
);
--> statement-breakpoint
CREATE INDEX `customers_by_plan` ON `customers` (`organization_id`,`plan_id`,`customer_id`);--> statement-breakpoint
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
CREATE TABLE `organizations` (
	`organization_id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`default_plan_id` text,
	`models` text,
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
CREATE INDEX `pricing_snapshots_by_model` ON `pricing_snapshots` (`model_key`);