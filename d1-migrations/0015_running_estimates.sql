CREATE TABLE `running_estimates` (
	`organization_id` text NOT NULL,
	`job_id` text NOT NULL,
	`started_at_ms` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `job_id`)
);
