CREATE TABLE `webhooks` (
	`organization_id` text NOT NULL,
	`webhook_id` text NOT NULL,
	`url` text NOT NULL,
	`types` text,
	`description` text,
	`enabled` integer NOT NULL,
	`format` text NOT NULL,
	`registered_by` text NOT NULL,
	`console_origin` text,
	`sealed_secret` text NOT NULL,
	`previous_sealed_secret` text,
	`previous_until_ms` integer,
	`after_place` integer NOT NULL,
	`disabled_at_ms` integer,
	`disabled_reason` text,
	`created_at_ms` integer NOT NULL,
	`updated_at_ms` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `webhook_id`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`organization_id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
-- The rebuild is corrected by hand: places are given here, in the order of the events, and no key refers to the table.
CREATE TABLE `__new_organization_events` (
	`place` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`organization_id` text NOT NULL,
	`event_id` text NOT NULL,
	`customer_id` text,
	`type` text NOT NULL,
	`at_ms` integer NOT NULL,
	`record` text NOT NULL,
	`revision` integer NOT NULL
);
--> statement-breakpoint
INSERT INTO `__new_organization_events`("organization_id", "event_id", "customer_id", "type", "at_ms", "record", "revision") SELECT "organization_id", "event_id", "customer_id", "type", "at_ms", "record", "revision" FROM `organization_events` ORDER BY "event_id";--> statement-breakpoint
DROP TABLE `organization_events`;--> statement-breakpoint
ALTER TABLE `__new_organization_events` RENAME TO `organization_events`;--> statement-breakpoint
CREATE UNIQUE INDEX `organization_events_by_id` ON `organization_events` (`organization_id`,`event_id`);--> statement-breakpoint
CREATE INDEX `organization_events_by_place` ON `organization_events` (`organization_id`,`place`);--> statement-breakpoint
CREATE INDEX `organization_events_by_customer` ON `organization_events` (`organization_id`,`customer_id`,`event_id`);--> statement-breakpoint
CREATE INDEX `organization_events_by_type` ON `organization_events` (`organization_id`,`type`,`event_id`);--> statement-breakpoint
CREATE INDEX `organization_events_by_time` ON `organization_events` (`at_ms`);