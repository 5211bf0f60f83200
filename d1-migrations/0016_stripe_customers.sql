CREATE TABLE `stripe_customers` (
	`stripe_customer_id` text NOT NULL,
	`organization_id` text NOT NULL,
	`customer_id` text NOT NULL,
	PRIMARY KEY(`stripe_customer_id`, `organization_id`, `customer_id`)
);
--> statement-breakpoint
CREATE INDEX `stripe_customers_by_customer` ON `stripe_customers` (`organization_id`,`customer_id`);--> statement-breakpoint
-- Each customer keeps the id that it has, also where several organizations have it.
INSERT INTO `stripe_customers` (`stripe_customer_id`, `organization_id`, `customer_id`)
  SELECT `stripe_customer_id`, `organization_id`, `customer_id` FROM `customers` WHERE `stripe_customer_id` IS NOT NULL;
