CREATE TABLE `vendor_objects` (
	`organization_id` text NOT NULL,
	`object_id` text NOT NULL,
	`forget_at_ms` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `object_id`)
);
--> statement-breakpoint
CREATE INDEX `vendor_objects_by_end` ON `vendor_objects` (`forget_at_ms`);