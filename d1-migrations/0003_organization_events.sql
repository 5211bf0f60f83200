CREATE TABLE `organization_events` (
	`organization_id` text NOT NULL,
	`event_id` text NOT NULL,
	`customer_id` text,
	`type` text NOT NULL,
	`at_ms` integer NOT NULL,
	`record` text NOT NULL,
	`revision` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `event_id`)
);
--> statement-breakpoint
CREATE INDEX `organization_events_by_customer` ON `organization_events` (`organization_id`,`customer_id`,`event_id`);--> statement-breakpoint
CREATE INDEX `organization_events_by_type` ON `organization_events` (`organization_id`,`type`,`event_id`);--> statement-breakpoint
CREATE INDEX `organization_events_by_time` ON `organization_events` (`at_ms`);--> statement-breakpoint
ALTER TABLE `organizations` ADD `alerts` text;