CREATE TABLE `archived_plans` (
	`organization_id` text NOT NULL,
	`plan_id` text NOT NULL,
	`archived_at_ms` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `plan_id`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`organization_id`) ON UPDATE no action ON DELETE no action
);
