CREATE TABLE `vendor_credentials` (
	`organization_id` text NOT NULL,
	`provider` text NOT NULL,
	`base_url` text NOT NULL,
	`sealed_key` text NOT NULL,
	`key_hint` text NOT NULL,
	`updated_at_ms` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `provider`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`organization_id`) ON UPDATE no action ON DELETE no action
);
