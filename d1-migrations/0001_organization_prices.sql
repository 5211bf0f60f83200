CREATE TABLE `organization_prices` (
	`organization_id` text NOT NULL,
	`model_key` text NOT NULL,
	`snapshot_id` text NOT NULL,
	`rates` text NOT NULL,
	`updated_at_ms` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `model_key`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`organization_id`) ON UPDATE no action ON DELETE no action
);
