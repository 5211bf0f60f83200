CREATE TABLE `deleted_calls` (
	`organization_id` text PRIMARY KEY NOT NULL,
	`before_ms` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `failed_hours` (
	`organization_id` text NOT NULL,
	`customer_id` text NOT NULL,
	`hour_ms` integer NOT NULL,
	`calls` integer NOT NULL,
	`unpriced_calls` integer NOT NULL,
	`revision` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `customer_id`, `hour_ms`)
);
--> statement-breakpoint
CREATE INDEX `failed_hours_by_time` ON `failed_hours` (`organization_id`,`hour_ms`);--> statement-breakpoint
CREATE TABLE `stripe_customers` (
	`stripe_customer_id` text NOT NULL,
	`organization_id` text NOT NULL,
	`customer_id` text NOT NULL,
	PRIMARY KEY(`stripe_customer_id`, `organization_id`, `customer_id`)
);
--> statement-breakpoint
CREATE INDEX `stripe_customers_by_customer` ON `stripe_customers` (`organization_id`,`customer_id`);--> statement-breakpoint
CREATE TABLE `key_changes` (
	`key_id` text PRIMARY KEY NOT NULL,
	`hour_ms` integer NOT NULL,
	`changes` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `vendor_objects` (
	`organization_id` text NOT NULL,
	`object_id` text NOT NULL,
	`forget_at_ms` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `object_id`)
);
--> statement-breakpoint
CREATE INDEX `vendor_objects_by_end` ON `vendor_objects` (`forget_at_ms`);--> statement-breakpoint
CREATE INDEX `operator_events_by_tenant` ON `operator_events` (`organization_id`,`event_id`) WHERE (actor GLOB 'key_*-*-*-*-*' OR action = 'webhook.disable');--> statement-breakpoint
-- Each customer keeps the id that it has, also where several organizations have it.
INSERT INTO `stripe_customers` (`stripe_customer_id`, `organization_id`, `customer_id`)
  SELECT `stripe_customer_id`, `organization_id`, `customer_id` FROM `customers` WHERE `stripe_customer_id` IS NOT NULL;
