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
CREATE INDEX `failed_hours_by_time` ON `failed_hours` (`organization_id`,`hour_ms`);