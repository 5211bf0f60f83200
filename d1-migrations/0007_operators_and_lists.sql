CREATE TABLE `operators` (
	`name` text PRIMARY KEY NOT NULL,
	`role` text NOT NULL,
	`created_at_ms` integer NOT NULL,
	`updated_at_ms` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `archived_plans` (
	`organization_id` text NOT NULL,
	`plan_id` text NOT NULL,
	`archived_at_ms` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `plan_id`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`organization_id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
ALTER TABLE `calls` ADD `denial_code` text;--> statement-breakpoint
CREATE INDEX `calls_denied` ON `calls` (`organization_id`,`denial_code`,`started_at_ms`) WHERE denial_code IS NOT NULL;--> statement-breakpoint
ALTER TABLE `customers` ADD `email_lower` text;--> statement-breakpoint
ALTER TABLE `customers` ADD `worst_meter` text;--> statement-breakpoint
ALTER TABLE `customers` ADD `worst_meter_used` real;--> statement-breakpoint
ALTER TABLE `customers` ADD `worst_meter_limit` real;--> statement-breakpoint
ALTER TABLE `customers` ADD `worst_meter_share` real GENERATED ALWAYS AS (COALESCE(worst_meter_used / worst_meter_limit, 0)) VIRTUAL;--> statement-breakpoint
ALTER TABLE `customers` ADD `period_cost_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `customers` ADD `period_cost_rest_nano_usd` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `customers` ADD `last_call_at_ms` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `customers` ADD `balance_nano_usd` text;--> statement-breakpoint
ALTER TABLE `customers` ADD `on_credit` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `customers` ADD `denied` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `customers` ADD `lowered_at_ms` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `customers_by_email_search` ON `customers` (`organization_id`,`email_lower`,`customer_id`);--> statement-breakpoint
CREATE INDEX `customers_by_worst_meter` ON `customers` (`organization_id`,`worst_meter_share`,`customer_id`);--> statement-breakpoint
CREATE INDEX `customers_by_cost` ON `customers` (`organization_id`,`period_cost_usd`,`period_cost_rest_nano_usd`,`customer_id`);--> statement-breakpoint
CREATE INDEX `customers_by_last_call` ON `customers` (`organization_id`,`last_call_at_ms`,`customer_id`);--> statement-breakpoint
ALTER TABLE `api_keys` ADD `models` text;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `features` text;