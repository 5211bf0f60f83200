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
	`record` text NOT NULL,
	`revision` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `event_id`)
);
--> statement-breakpoint
CREATE INDEX `meter_events_by_customer` ON `meter_events` (`organization_id`,`customer_id`,`at_ms`);--> statement-breakpoint
CREATE INDEX `meter_events_by_age` ON `meter_events` (`at_ms`);--> statement-breakpoint
ALTER TABLE `customers` ADD `pending_usage_plan_version_id` text;