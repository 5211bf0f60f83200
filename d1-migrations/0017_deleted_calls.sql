CREATE TABLE `deleted_calls` (
	`organization_id` text PRIMARY KEY NOT NULL,
	`before_ms` integer NOT NULL
);
