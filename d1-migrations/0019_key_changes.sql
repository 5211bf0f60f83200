CREATE TABLE `key_changes` (
	`key_id` text PRIMARY KEY NOT NULL,
	`hour_ms` integer NOT NULL,
	`changes` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `operator_events_by_tenant` ON `operator_events` (`organization_id`,`event_id`) WHERE (actor GLOB 'key_*-*-*-*-*' OR action = 'webhook.disable');