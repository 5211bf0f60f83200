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
	`payload` text NOT NULL,
	PRIMARY KEY(`organization_id`, `sample_id`)
);
--> statement-breakpoint
CREATE INDEX `samples_by_time` ON `samples` (`organization_id`,`received_at_ms`,`sample_id`);--> statement-breakpoint
CREATE INDEX `samples_by_customer` ON `samples` (`organization_id`,`customer_id`,`received_at_ms`,`sample_id`);--> statement-breakpoint
CREATE INDEX `samples_by_expiry` ON `samples` (`expires_at_ms`);--> statement-breakpoint
ALTER TABLE `calls` ADD `original_tokens` integer;--> statement-breakpoint
ALTER TABLE `calls` ADD `compressed_tokens` integer;--> statement-breakpoint
ALTER TABLE `calls` ADD `saved_tokens` integer;--> statement-breakpoint
ALTER TABLE `calls` ADD `cost_avoided_nano_usd` integer;--> statement-breakpoint
ALTER TABLE `calls` ADD `compression_techniques` text;--> statement-breakpoint
CREATE INDEX `calls_with_compression` ON `calls` (`organization_id`,`started_at_ms`) WHERE original_tokens IS NOT NULL;--> statement-breakpoint
ALTER TABLE `organizations` ADD `sampling` text;--> statement-breakpoint
ALTER TABLE `organizations` ADD `compression_profile` text;